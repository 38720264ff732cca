package acceptance_test

import (
	"testing"
	"time"
)

// TestRollingRestart replaces three nodes one after the other while a crowd buys, as
// a deploy does. Nobody's purchase is lost, and everybody is told in the end; what
// goes wrong on the way, a client that tries again gets over.
func TestRollingRestart(t *testing.T) {
	s := startService(t, 3)
	ample := s.schedule(t, plan{Stock: 5000, PerUserLimit: 2})
	scarce := s.schedule(t, plan{Stock: 100, PerUserLimit: 1})
	crowd := s.send(t, patient(population(s.nodes,
		demand{sale: ample, purchases: 1200, users: 1000, maxQuantity: 2},
		demand{sale: scarce, purchases: 400, users: 300, maxQuantity: 1},
	)), 12*time.Second)

	for i, n := range s.nodes {
		crowd.await(t, 0.1+0.3*float64(i))
		n.terminate(t)
		askedAt := time.Now()
		n.awaitExit(t, graceWithin)
		t.Logf("node %s ended %s after SIGTERM", n.name, time.Since(askedAt).Round(time.Millisecond))
		n.start(t)
		n.awaitReady(t, s.client)
	}

	crowd.gone()
	s.conclude(t)
	s.requireAnswers(t)
	s.requireOutcomes(t, ample, succeeded, "limit_exceeded")
	s.requireOutcomes(t, scarce, succeeded, "sold_out", "limit_exceeded")
}
