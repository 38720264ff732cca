package purchasing_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/domain"
	"seckill/postgres/postgrestest"
)

// The races run alone: they keep the machine busy, and the other tests have deadlines.

// racesAtOnce is how many commands are given at the same time: few enough that those
// on one order meet, and do not wait for connections.
const racesAtOnce = 16

// newRace returns two nodes of one database, and a sale with an order for each race.
func newRace(t *testing.T, races int, timeout time.Duration) (nodes []*node, sale int64, orders []order) {
	t.Helper()
	url := postgrestest.New(t)
	nodes = []*node{newNode(t, url, 500), newNode(t, url, 500)}
	nodes[0].work(t)
	sale = nodes[0].saleToPayIn(t, int64(races), 1, timeout)
	return nodes, sale, nodes[0].sellTo(t, sale, races)
}

// outcomes counts what the commands were answered; an answer that the contract does
// not have fails the test.
type outcomes struct {
	mu     sync.Mutex
	counts map[string]int
}

func (o *outcomes) add(t *testing.T, command string, err error) {
	t.Helper()
	var refused domain.OrderError
	if err != nil && !errors.As(err, &refused) {
		t.Errorf("%s: %v", command, err)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.counts == nil {
		o.counts = make(map[string]int)
	}
	if err != nil {
		command += " " + refused.Error()
	}
	o.counts[command]++
}

// want fails the test unless so many commands got that answer.
func (o *outcomes) want(t *testing.T, answer string, count int) {
	t.Helper()
	if got := o.counts[answer]; got != count {
		t.Errorf("%d × %q, want %d", got, answer, count)
	}
}

// A payment that comes at the moment at which its order expires is in time or too
// late, and never both (FAULTS 15): who is told that it is paid has the unit.
func TestOrders_PayAgainstExpiry(t *testing.T) {
	const races = 1000
	nodes, sale, orders := newRace(t, races, 8*time.Second)
	for _, n := range nodes {
		n.expire(t)
	}
	var told outcomes
	each(len(orders), len(orders), func(i int) {
		// The connections take their time, so most of these arrive around the moment.
		time.Sleep(time.Until(orders[i].payBy) - time.Duration(rand.IntN(700)-20)*time.Millisecond)
		told.add(t, "pay", payUntilAnswered(t, nodes[i%2], orders[i].id))
	})
	n := nodes[0]
	eventually(t, soon, "the others have expired", func() bool { return n.ends(t, sale)["pending_payment"] == 0 })
	ends := n.ends(t, sale)
	t.Logf("told %v, ended %v", told.counts, ends)
	told.want(t, "pay", ends["paid"])
	told.want(t, "pay payment_too_late", ends["expired"])
	if ends["paid"]+ends["expired"] != races || ends["paid"] == 0 || ends["expired"] == 0 {
		t.Errorf("the orders ended as %v, want %d, of both kinds", ends, races)
	}
	n.checkBooks(t, sale)
}

// payUntilAnswered pays, and pays again if all connections were busy for too long.
func payUntilAnswered(t *testing.T, n *node, orderID string) error {
	t.Helper()
	for {
		err := n.orders.Pay(t.Context(), orderID, "pay", nil, nil)
		if _, refused := errors.AsType[domain.OrderError](err); err == nil || refused || t.Context().Err() != nil {
			return err
		}
	}
}

func TestOrders_CancelAgainstPay(t *testing.T) {
	const races = 1000
	nodes, sale, orders := newRace(t, races, 15*time.Minute)
	var told outcomes
	each(len(orders), racesAtOnce/2, func(i int) {
		atOnce(
			func() {
				told.add(t, "cancel", nodes[i%2].orders.Cancel(t.Context(), orders[i].id, orders[i].user, nil))
			},
			func() { told.add(t, "pay", nodes[1-i%2].orders.Pay(t.Context(), orders[i].id, "pay", nil, nil)) },
		)
	})
	n := nodes[0]
	ends := n.ends(t, sale)
	t.Logf("told %v, ended %v", told.counts, ends)
	told.want(t, "pay", ends["paid"])
	told.want(t, "pay order_cancelled", ends["cancelled"])
	told.want(t, "cancel", ends["cancelled"])
	told.want(t, "cancel order_paid", ends["paid"])
	if ends["paid"]+ends["cancelled"] != races {
		t.Errorf("the orders ended as %v, want %d paid or cancelled", ends, races)
	}
	n.checkBooks(t, sale)
}

// atOnce runs all and waits for them.
func atOnce(all ...func()) {
	var wg sync.WaitGroup
	for _, do := range all {
		wg.Go(do)
	}
	wg.Wait()
}

// Orders are paid, cancelled and refunded at once, the refund by two nodes: whatever
// comes first, the units come back at most once (FAULTS 14), and deciding goes on
// meanwhile without a deadlock (FAULTS 17).
func TestOrders_CancelAgainstRefund(t *testing.T) {
	const races = 500
	nodes, sale, orders := newRace(t, races, 15*time.Minute)
	var told outcomes
	stop := make(chan struct{})
	var bought atomic.Int64
	var buyers sync.WaitGroup
	buyers.Go(func() { // others buy what comes back
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				nodes[0].submit(t, sale, fmt.Sprint("other-", i), 1)
				bought.Add(1)
			}
		}
	})
	each(len(orders), racesAtOnce/8, func(i int) {
		o := orders[i]
		refund := func(n *node) func() {
			return func() { told.add(t, "refund", n.orders.Refund(t.Context(), o.id, "refund", i%3 > 0, nil)) }
		}
		if i%2 == 0 {
			told.add(t, "pay", nodes[0].orders.Pay(t.Context(), o.id, "pay", nil, nil))
		}
		atOnce(
			func() { told.add(t, "cancel", nodes[i/2%2].orders.Cancel(t.Context(), o.id, o.user, nil)) },
			func() {
				time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond) // a payment takes one lock, the others two
				told.add(t, "pay", nodes[1-i/2%2].orders.Pay(t.Context(), o.id, "pay", nil, nil))
			},
			refund(nodes[0]),
			refund(nodes[1]),
		)
	})
	close(stop)
	buyers.Wait()
	n := nodes[0]
	eventually(t, soon, "all is decided", func() bool {
		return value[int](t, n, "select count(*) from events where sale_id = $1 and version = 2", sale) == races+int(bought.Load())
	})
	t.Logf("told %v, ended %v", told.counts, n.ends(t, sale))
	if ends := n.ends(t, sale); ends["refunded"] == 0 || ends["cancelled"] == 0 {
		t.Errorf("the orders ended as %v, want some refunded and some cancelled", ends)
	}
	n.checkBooks(t, sale)
}
