package load

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLedger_Judge(t *testing.T) {
	t.Parallel()
	const saleID = 1

	type testBundle struct {
		ledger  *ledger
		account *account
	}
	// setup opens a fresh sale of ten units, two for each user.
	setup := func() *testBundle {
		opened := sale{SaleID: saleID, Stock: 10, Available: 10, PerUserLimit: 2, PaymentTimeout: "15m"}
		return &testBundle{ledger: newLedger(), account: &account{before: opened, after: opened}}
	}
	accept := func(b *testBundle, user, request string) {
		b.ledger.accepted(order{sale: saleID, user: user, quantity: 1}, purchase{RequestID: request})
	}
	confirm := func(b *testBundle, user, request, orderID string) {
		accept(b, user, request)
		b.ledger.told(request, purchase{RequestID: request, Status: statusSucceeded, OrderID: orderID})
		b.account.after.Available--
	}
	reject := func(b *testBundle, user, request, reason string) {
		accept(b, user, request)
		b.ledger.told(request, purchase{RequestID: request, Status: "failed", Reason: reason})
	}

	for _, test := range []struct {
		name string
		do   func(b *testBundle)
		want []RuleName
	}{
		{name: "Kept", do: func(b *testBundle) {
			confirm(b, "ann", "r1", "o1")
			confirm(b, "ann", "r2", "o2")
			reject(b, "ann", "r3", "limit_exceeded")
			b.ledger.reread("r1", purchase{RequestID: "r1", Status: statusSucceeded, OrderID: "o1"})
		}},
		{name: "LimitExceeded", want: []RuleName{RuleLimit}, do: func(b *testBundle) {
			confirm(b, "ann", "r1", "o1")
			confirm(b, "ann", "r2", "o2")
			confirm(b, "ann", "r3", "o3")
		}},
		{name: "OrderTwice", want: []RuleName{RuleOrderOnce}, do: func(b *testBundle) {
			confirm(b, "ann", "r1", "o1")
			confirm(b, "bob", "r2", "o1")
		}},
		{name: "OrderWithoutID", want: []RuleName{RuleOrderOnce}, do: func(b *testBundle) {
			confirm(b, "ann", "r1", "")
		}},
		{name: "ToldBoth", want: []RuleName{RuleOneResult}, do: func(b *testBundle) {
			confirm(b, "ann", "r1", "o1")
			b.ledger.told("r1", purchase{RequestID: "r1", Status: "failed", Reason: reasonSoldOut})
		}},
		{name: "ToldNothing", want: []RuleName{RuleOneResult}, do: func(b *testBundle) {
			accept(b, "ann", "r1")
		}},
		{name: "ReadsDifferently", want: []RuleName{RuleSameAgain}, do: func(b *testBundle) {
			confirm(b, "ann", "r1", "o1")
			b.ledger.reread("r1", purchase{RequestID: "r1", Status: statusSucceeded, OrderID: "o2"})
		}},
		{name: "ToldOfAnotherRequest", want: []RuleName{RuleOneResult, RuleOwnResult}, do: func(b *testBundle) {
			accept(b, "ann", "r1")
			b.ledger.told("r1", purchase{RequestID: "r2", Status: "failed"})
		}},
		{name: "ToldOfAnotherUser", want: []RuleName{RuleOneResult, RuleOwnResult}, do: func(b *testBundle) {
			accept(b, "ann", "r1")
			b.ledger.told("r1", purchase{RequestID: "r1", UserID: "bob", Status: "failed"})
		}},
		{name: "RequestForTwo", want: []RuleName{RuleOwnResult}, do: func(b *testBundle) {
			reject(b, "ann", "r1", "limit_exceeded")
			accept(b, "bob", "r1")
		}},
		{name: "KeyForTwo", want: []RuleName{RuleOneRequest}, do: func(b *testBundle) {
			b.ledger.twins("key", purchase{RequestID: "r1"}, purchase{RequestID: "r2"})
		}},
		{name: "KeyForOne", do: func(b *testBundle) {
			b.ledger.twins("key", purchase{RequestID: "r1"}, purchase{RequestID: "r1"})
		}},
		{name: "Oversold", want: []RuleName{RuleStock}, do: func(b *testBundle) {
			b.account.before.Stock, b.account.before.Available, b.account.after.Stock = 1, 1, 1
			confirm(b, "ann", "r1", "o1")
			confirm(b, "bob", "r2", "o2")
			b.account.after.Available = 0
		}},
		{name: "NegativeStock", want: []RuleName{RuleStock}, do: func(b *testBundle) {
			b.account.after.Available = -1
		}},
		{name: "UnitsVanished", want: []RuleName{RuleStock}, do: func(b *testBundle) {
			confirm(b, "ann", "r1", "o1")
			b.account.after.Available--
		}},
		{name: "UnitNotTaken", want: []RuleName{RuleStock}, do: func(b *testBundle) {
			confirm(b, "ann", "r1", "o1")
			b.account.after.Available++
		}},
		{name: "UnitGoneWithoutAnAnswer", do: func(b *testBundle) {
			confirm(b, "ann", "r1", "o1")
			b.ledger.unanswered(order{sale: saleID, user: "bob", quantity: 1})
			b.account.after.Available--
		}},
		{name: "Undersold", want: []RuleName{RuleNoUndersell}, do: func(b *testBundle) {
			reject(b, "ann", "r1", reasonSoldOut)
		}},
		{name: "UndersoldAtTheDoor", want: []RuleName{RuleNoUndersell}, do: func(b *testBundle) {
			b.ledger.soldOut(order{sale: saleID, user: "ann", quantity: 1})
		}},
		{name: "TooManyWantedAtTheDoor", do: func(b *testBundle) {
			b.ledger.soldOut(order{sale: saleID, user: "ann", quantity: 11})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup()
			test.do(b)
			got := brokenRules(b.ledger.judge([]*account{b.account}, time.Second, false))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("broken rules (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLedger_Judge_Skips(t *testing.T) {
	t.Parallel()
	opened := sale{SaleID: 1, Stock: 10, Available: 10, PerUserLimit: 1, PaymentTimeout: "15m"}
	used := opened
	used.Available = 9

	for _, test := range []struct {
		name    string
		account account
		took    time.Duration
		want    string
	}{
		{"Fresh", account{before: opened, after: opened}, time.Minute, ""},
		{"NotFresh", account{before: used, after: used}, time.Minute, "sale 1: units were gone before the load"},
		{"NotRead", account{before: opened}, time.Minute, "sale 1: its stock was not read after the load"},
		{"OrdersExpire", account{before: opened, after: used}, time.Hour, "sale 1: orders may have expired and given units back"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, rule := range newLedger().judge([]*account{&test.account}, test.took, false) {
				if rule.Broken > 0 {
					t.Errorf("%q is broken: %v", rule.Name, rule.Examples)
				}
				if rule.Name == RuleStock && rule.Skipped != test.want {
					t.Errorf("skipped: %q, want %q", rule.Skipped, test.want)
				}
			}
		})
	}
}
