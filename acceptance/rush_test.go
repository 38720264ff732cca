package acceptance_test

import (
	"testing"
	"time"
)

// TestRush sells to thousands of buyers on three nodes, of which one is frozen for
// a while and another is killed and started again: in between a single node is
// left. Whatever the buyers see on the way, all rules hold in the end.
func TestRush(t *testing.T) {
	const (
		lasts  = 13 * time.Second
		frozen = 9 * time.Second
	)
	s := startService(t, 3)
	scarce := s.schedule(t, plan{Stock: 301, PerUserLimit: 2})
	ample := s.schedule(t, plan{Stock: 3000, PerUserLimit: 1})
	brief := s.schedule(t, plan{
		Stock:        250,
		PerUserLimit: 3,
		OpensAt:      time.Now().Add(lasts / 4),
		ClosesAt:     time.Now().Add(lasts * 3 / 4),
	})
	fleeting := s.schedule(t, plan{Stock: 60, PerUserLimit: 2, PaymentTimeout: "3s"})
	crowd := s.send(t, population(s.nodes,
		demand{sale: scarce, purchases: 1400, users: 1000, maxQuantity: 3},
		demand{sale: ample, purchases: 1600, users: 1300, maxQuantity: 1},
		demand{sale: brief, purchases: 1000, users: 800, maxQuantity: 3},
		demand{sale: fleeting, purchases: 600, users: 300, maxQuantity: 2},
	), lasts)

	crowd.await(t, 0.2)
	frost := time.NewTimer(frozen)
	since := time.Now()
	s.nodes[1].freeze(t)
	crowd.await(t, 0.4)
	s.nodes[2].kill()
	crowd.await(t, 0.55)
	s.nodes[2].start(t)
	<-frost.C
	s.nodes[1].thaw(t)
	s.awaitReady(t)
	s.ledger.addDisturbance(disturbance{node: s.nodes[1].name, since: since, until: time.Now()})

	crowd.gone()
	s.conclude(t)
	s.requireOutcomes(t, scarce, succeeded, "sold_out", "limit_exceeded")
	s.requireOutcomes(t, ample, succeeded, "limit_exceeded")
	s.requireOutcomes(t, brief, succeeded)
	s.requireOutcomes(t, fleeting, succeeded)
	s.requireEndings(t, fleeting, "paid", "cancelled", "expired", "refunded")
	s.requireRefusals(t, brief, "sale_closed", "sale_not_open")
	s.requireRefusals(t, scarce, "quantity_over_limit", "sold_out")
}
