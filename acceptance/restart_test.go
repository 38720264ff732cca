package acceptance_test

import (
	"testing"
	"time"
)

// TestDatabaseRestart takes the database away under load, once by kill -9 and once in
// an orderly way. Buyers may be asked to come back, but are never told anything
// wrong; and whoever was waiting all the time is told soon after the return.
func TestDatabaseRestart(t *testing.T) {
	s := startService(t, 2)
	ample := s.schedule(t, plan{Stock: 5000, PerUserLimit: 2})
	scarce := s.schedule(t, plan{Stock: 100, PerUserLimit: 1})
	silent := s.schedule(t, plan{Stock: 2, PerUserLimit: 1})
	for _, outage := range []outage{
		{how: "killed", stop: s.database.Kill},
		{how: "stopped", stop: s.database.Stop},
	} {
		s.holdSale(t, silent) // until the database stops
		waitedFor := s.accept(t, s.nodes[0], order{sale: silent, user: outage.how, quantity: 1})
		waiting := s.wait(t, waitedFor.RequestID)
		crowd := s.send(t, population(s.nodes,
			demand{sale: ample, purchases: 400, users: 300, maxQuantity: 2},
			demand{sale: scarce, purchases: 200, users: 150, maxQuantity: 1},
		), 4*time.Second)
		crowd.await(t, 0.4)
		s.endure(t, outage, waiting)
		crowd.gone()
	}
	s.conclude(t)
	s.requireOutcomes(t, ample, succeeded, "limit_exceeded")
	s.requireOutcomes(t, scarce, succeeded, "sold_out", "limit_exceeded")
	s.requireOutcomes(t, silent, succeeded)
}

// outage is a way for the database to go away.
type outage struct {
	how  string
	stop func()
}

// endure takes the database away until buyers have noticed. Those who wait for a result
// all the time must be told it afterwards.
func (s *service) endure(t *testing.T, o outage, waiting []*waiter) {
	t.Helper()
	const (
		noticed       = 10 // buyers
		decidedWithin = 9 * time.Second
		toldWithin    = 5 * time.Second
	)
	since := time.Now()
	turnedAway := s.ledger.count("503 unavailable")
	o.stop()
	eventually(t, time.Minute, "buyers are asked to come back", func() bool {
		return s.ledger.count("503 unavailable") >= turnedAway+noticed
	})
	s.database.Start()
	returnedAt := time.Now()
	t.Logf("the database was %s for %s", o.how, returnedAt.Sub(since).Round(time.Millisecond))
	for _, w := range waiting {
		<-w.done
		if w.err != nil || w.result.Status != succeeded {
			t.Errorf("who waited at node %s by %s was told %q, %v", w.node.name, w.how, w.result.Status, w.err)
			continue
		}
		decided := w.result.DecidedAt.Sub(returnedAt)
		told := w.toldAt.Sub(later(returnedAt, *w.result.DecidedAt))
		t.Logf("the waiting request was decided %s after the return, and told by %s at node %s %s later",
			decided.Round(time.Millisecond), w.how, w.node.name, told.Round(time.Millisecond))
		if decided > decidedWithin || told > toldWithin {
			t.Errorf("want it decided within %s, and told within %s", decidedWithin, toldWithin)
		}
	}
	s.awaitReady(t)
	for _, n := range s.nodes {
		s.ledger.addDisturbance(disturbance{node: n.name, since: since, until: time.Now()})
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
