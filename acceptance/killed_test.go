package acceptance_test

import (
	"testing"
	"time"
)

// TestKilledNode kills a node in the middle of a decision on a sale that is
// otherwise silent: nobody else comes whose purchase would wake a worker. Another
// node must find the job and decide.
func TestKilledNode(t *testing.T) {
	const healedWithin = 5 * time.Second
	s := startService(t, 2)
	sale := s.schedule(t, plan{Stock: 1, PerUserLimit: 1})

	lock := s.holdSale(t, sale)
	accepted := s.accept(t, s.nodes[0], order{sale: sale, user: "42", quantity: 1})
	victim := lock.awaitWorker(t, sale)
	victim.kill()
	killedAt := time.Now()
	lock.release()

	survivor := s.otherThan(victim)
	result := s.awaitResult(t, survivor, accepted.RequestID)
	if result.Status != succeeded {
		t.Errorf("the purchase %s", result.Status)
	}
	t.Logf("node %s was killed, node %s told the result after %s", victim.name, survivor.name, time.Since(killedAt).Round(time.Millisecond))
	if healed := result.DecidedAt.Sub(killedAt); healed > healedWithin {
		t.Errorf("decided %s after the kill, want at most %s", healed, healedWithin)
	}
	victim.start(t)
	s.conclude(t)
}
