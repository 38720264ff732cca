package acceptance_test

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// TestFrozenNode freezes a node that holds a sale's lock, in the middle of a
// transaction, with its connections open. The other node must be able to go on
// selling soon, and the frozen one must do no harm when it wakes up.
func TestFrozenNode(t *testing.T) {
	const (
		buyers       = 50
		goesOnWithin = 8 * time.Second
	)
	s := startService(t, 2)
	sale := s.schedule(t, plan{Stock: 20, PerUserLimit: 1})

	// Whoever decides has the sale's lock and then waits here.
	lock := s.hold(t, "lock table orders in share mode")
	first := s.accept(t, s.nodes[0], order{sale: sale, user: "first", quantity: 1})
	victim := lock.awaitWorker(t, sale)
	victim.freeze(t)
	frozenAt := time.Now()
	lock.release()
	if !s.isLocked(t, sale) {
		t.Fatal("the frozen node does not hold the lock")
	}

	other := s.otherThan(victim)
	var wg sync.WaitGroup
	for i := range buyers {
		b := &buyer{
			order:        order{sale: sale, user: fmt.Sprint("user-", i), quantity: 1},
			follow:       []string{byLongPoll, bySSE}[i%2],
			nodes:        []*node{other},
			postPatience: longPatience,
		}
		wg.Go(func() { b.buy(t.Context(), s.shop, func() {}) })
	}
	result := s.awaitResult(t, other, first.RequestID)
	wg.Wait()
	wentOnAfter := time.Since(frozenAt)
	t.Logf("node %s was frozen with the lock; node %s went on within %s", victim.name, other.name, wentOnAfter.Round(time.Millisecond))
	if wentOnAfter > goesOnWithin {
		t.Errorf("the sale stood still for %s, want at most %s", wentOnAfter, goesOnWithin)
	}

	victim.thaw(t)
	victim.awaitReady(t, s.client)
	s.ledger.addDisturbance(disturbance{node: victim.name, since: frozenAt, until: time.Now()})
	if again := s.awaitResult(t, victim, first.RequestID); again.Status != result.Status {
		t.Errorf("node %s says %s, node %s says %s", victim.name, again.Status, other.name, result.Status)
	}
	s.conclude(t)
	s.requireOutcomes(t, sale, succeeded, "sold_out")
}
