package purchasing_test

import (
	"fmt"
	"testing"
	"time"

	"seckill/domain"
	"seckill/postgres/postgrestest"
)

// A thousand orders that end in the same second are given up by two nodes in a few
// transactions, and the sale sells again within a second.
func TestExpiry(t *testing.T) { // alone, so that its times mean something
	url := postgrestest.New(t)
	nodes := []*node{newNode(t, url, 500), newNode(t, url, 500)}
	n := nodes[0]
	n.work(t)
	const stock = 1000
	sale := n.saleToPayIn(t, stock, 1, 5*time.Second)
	orders := n.sellTo(t, sale, stock)
	if got := n.outcome(t, sale, "late"); got != domain.ReasonSoldOut {
		t.Fatalf("got %q, want sold_out", got)
	}
	for _, n := range nodes {
		n.background(t, n.board.Run) // the door opens again too
		n.expire(t)
	}

	first, last := orders[0].payBy, orders[len(orders)-1].payBy
	time.Sleep(time.Until(first))
	eventually(t, soon, "the sale sells again", func() bool {
		return n.outcome(t, sale, "again") == ""
	})
	again := time.Since(first)
	eventually(t, soon, "all have expired", func() bool { return n.ends(t, sale)["expired"] == stock })
	all := time.Since(last)
	transactions := value[int](t, n, "select count(distinct transaction_id) from events where sale_id = $1 and type = 'OrderExpired'", sale)
	t.Logf("%d orders that ended within %s: sold again after %s, all expired %s after the last, by %d transactions",
		stock, last.Sub(first).Round(time.Millisecond), again.Round(time.Millisecond), all.Round(time.Millisecond), transactions)
	if again > 3*time.Second || all > 3*time.Second {
		t.Errorf("it took too long, also for a busy machine")
	}
	if transactions > 20 {
		t.Errorf("%d transactions, want a few", transactions)
	}
	n.checkBooks(t, sale)
}

// Whoever keeps the purchase of one order locked does not keep the others from
// expiring; the one does when the lock is free.
func TestExpiry_LockedPurchase(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 500)
	n.work(t)
	sale := n.saleToPayIn(t, 10, 1, time.Second)
	locked := n.won(t, sale, "locked", 1)
	release := lockPurchase(t, n, locked.RequestID)
	for i := range 5 {
		n.won(t, sale, fmt.Sprint(i), 1)
	}
	n.expire(t)
	eventually(t, soon, "the others have expired", func() bool { return n.ends(t, sale)["expired"] == 5 })
	n.won(t, sale, "again", 1) // the sale is not kept either
	if status := value[string](t, n, "select status from orders where order_id = $1", locked.OrderID); status != "pending_payment" {
		t.Errorf("the locked order is %s", status)
	}
	n.checkBooks(t, sale)
	release()
	eventually(t, soon, "the locked one has expired", func() bool {
		return value[string](t, n, "select status from orders where order_id = $1", locked.OrderID) == "expired"
	})
	n.checkBooks(t, sale)
}

// A sale that somebody keeps locked does not keep the orders of others from expiring.
func TestExpiry_LockedSale(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 500)
	n.work(t)
	locked, free := n.saleToPayIn(t, 1, 1, time.Second), n.saleToPayIn(t, 1, 1, time.Second)
	n.won(t, locked, "42", 1)
	n.won(t, free, "42", 1)
	release := lockSale(t, n, locked)
	n.expire(t)
	eventually(t, soon, "the other sale's order has expired", func() bool { return n.ends(t, free)["expired"] == 1 })
	release()
	eventually(t, soon, "the locked sale's order has expired", func() bool { return n.ends(t, locked)["expired"] == 1 })
}

// An order that cannot be expired, and one whose row is wrong, do not keep their
// neighbours.
func TestExpiry_Poison(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 500)
	n.work(t)
	sale := n.saleToPayIn(t, 10, 1, time.Second)
	n.exec(t, `create function refuse_poison() returns trigger language plpgsql as $$
		begin
			if new.user_id = 'poison' then
				raise exception 'poison' using errcode = 'check_violation';
			end if;
			return new;
		end $$`)
	n.exec(t, "create trigger poison before update on orders for each row execute function refuse_poison()")
	for _, user := range []string{"a", "poison", "b", "wrong", "c"} {
		p := n.won(t, sale, user, 1)
		if user == "wrong" { // it is cancelled, and its row says that it is pending
			if err := n.orders.Cancel(t.Context(), p.OrderID, user, nil); err != nil {
				t.Fatal(err)
			}
			n.exec(t, "update orders set status = 'pending_payment' where order_id = $1", p.OrderID)
		}
	}
	n.expire(t)
	eventually(t, soon, "the neighbours have expired", func() bool { return n.ends(t, sale)["expired"] == 3 })
	if ends := value[int](t, n, "select count(*) from events where sale_id = $1 and version > 2", sale); ends != 4 {
		t.Errorf("%d orders have ended, want 4: one cancelled, three expired", ends)
	}
}
