package load

import (
	"cmp"
	"fmt"
	"time"
)

// account is one sale before and after the load.
type account struct {
	before, after sale
	confirmed     int64 // units that buyers were told they have
}

// judge checks the rules over the whole ledger, after a load that took so long.
// Where the check was cut short, what nobody was told yet is not held against
// the service.
func (l *ledger) judge(accounts []*account, took time.Duration, cutShort bool) []Rule {
	l.mu.Lock()
	defer l.mu.Unlock()
	skipped := make(map[RuleName]string)
	l.judgeRequests(accounts)
	skipped[RuleStock] = l.judgeStock(accounts, took)
	skipped[RuleNoUndersell] = skipped[RuleStock]
	if cutShort {
		skipped[RuleOneResult] = "the run was interrupted"
		skipped[RuleSameAgain] = "the run was interrupted"
	} else {
		l.judgeUntold()
	}

	rules := make([]Rule, 0, len(ruleNames))
	for _, name := range ruleNames {
		rule := Rule{Name: name, Skipped: skipped[name]}
		if b, broken := l.breaches[name]; broken {
			rule.Broken, rule.Examples = b.count, b.examples
		}
		rules = append(rules, rule)
	}
	return rules
}

func (l *ledger) judgeUntold() {
	for requestID, e := range l.requests {
		if e.status == "" {
			l.breach(RuleOneResult, "request %s of user %s in sale %d was told nothing", requestID, e.user, e.sale)
		}
	}
}

// judgeRequests compares the requests with each other, and adds up what each
// sale's buyers were told.
func (l *ledger) judgeRequests(accounts []*account) {
	type holder struct {
		sale int64
		user string
	}
	bySale := make(map[int64]*account, len(accounts))
	for _, a := range accounts {
		bySale[a.before.SaleID] = a
	}
	orders := make(map[string]string)
	held := make(map[holder]int)
	for requestID, e := range l.requests {
		if !e.confirmed() {
			continue
		}
		if other, taken := orders[e.orderID]; taken || e.orderID == "" {
			l.breach(RuleOrderOnce, "order %q was given to request %s and to request %q", e.orderID, requestID, other)
		}
		orders[e.orderID] = requestID

		a := bySale[e.sale]
		a.confirmed += int64(e.quantity)
		who := holder{e.sale, e.user}
		held[who] += e.quantity
		if held[who] > a.before.PerUserLimit {
			l.breach(RuleLimit, "user %s was given %d units of sale %d, whose limit is %d",
				e.user, held[who], e.sale, a.before.PerUserLimit)
		}
	}
}

// judgeStock compares what buyers were told with what each sale has left. It
// returns why it could not, if it could not.
func (l *ledger) judgeStock(accounts []*account, took time.Duration) (skipped string) {
	for _, a := range accounts {
		if reason := a.incomparable(took); reason != "" {
			skipped = fmt.Sprintf("sale %d: %s", a.before.SaleID, reason)
			continue
		}
		id, gone, door := a.before.SaleID, a.after.Stock-a.after.Available, l.door(a.before.SaleID)
		if a.confirmed > a.after.Stock || a.after.Available < 0 {
			l.breach(RuleStock, "sale %d is oversold: %d units were told, of a stock of %d with %d left",
				id, a.confirmed, a.after.Stock, a.after.Available)
		} else if gone < a.confirmed || gone > a.confirmed+door.unknown {
			l.breach(RuleStock, "sale %d: %d units were told and %d are gone; requests without an answer asked for %d",
				id, a.confirmed, gone, door.unknown)
		}
		l.judgeSoldOut(id, a.after.Available, door)
	}
	return skipped
}

// judgeSoldOut looks for buyers who could have been served: nothing comes back
// during a comparable run, so what is left now was free all the time.
func (l *ledger) judgeSoldOut(saleID, left int64, door *door) {
	if left <= 0 {
		return
	}
	if door.soldOut > 0 && int64(door.smallest) <= left {
		l.breach(RuleNoUndersell, "sale %d: a request for %d was refused at the door (%d were), yet %d units are left",
			saleID, door.smallest, door.soldOut, left)
	}
	for requestID, e := range l.requests {
		if e.sale == saleID && e.reason == reasonSoldOut && int64(e.quantity) <= left {
			l.breach(RuleNoUndersell, "sale %d: request %s for %d was told sold_out, yet %d units are left",
				saleID, requestID, e.quantity, left)
		}
	}
}

// incomparable says why the sale's stock cannot be compared with what this run's
// buyers were told, if it cannot.
func (a *account) incomparable(took time.Duration) string {
	if a.after.SaleID == 0 {
		return "its stock was not read after the load"
	}
	if a.before.Available != a.before.Stock {
		return "units were gone before the load"
	}
	timeout, err := time.ParseDuration(cmp.Or(a.before.PaymentTimeout, "0s"))
	if err == nil && timeout > 0 && timeout <= took {
		return "orders may have expired and given units back"
	}
	return ""
}
