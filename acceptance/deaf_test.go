package acceptance_test

import (
	"context"
	"testing"
	"time"
)

// TestDeafNodes cuts the connections by which nodes hear of commits, again and again
// while a crowd buys. Whoever waits is told all the same, and soon: the nodes look
// for themselves after each return, and every second.
func TestDeafNodes(t *testing.T) {
	const (
		every = 150 * time.Millisecond
		// toldWithin is the second after which a node looks, and what a busy machine
		// adds to it.
		toldWithin = 5 * time.Second
	)
	s := startService(t, 2)
	sale := s.schedule(t, plan{Stock: 5000, PerUserLimit: 2})
	crowd := s.send(t, patient(population(s.nodes, demand{sale: sale, purchases: 1000, users: 700, maxQuantity: 2})), 8*time.Second)

	ctx, stop := context.WithCancel(t.Context())
	cut := make(chan int)
	go func() {
		total := 0
		for ctx.Err() == nil {
			var count int
			err := s.db.QueryRow(t.Context(), `select count(pg_terminate_backend(pid)) from pg_stat_activity where query like 'listen %'`).Scan(&count)
			if err != nil {
				t.Error(err)
			}
			total += count
			time.Sleep(every)
		}
		cut <- total
	}()
	crowd.gone()
	stop()
	if total := <-cut; total < 10 {
		t.Errorf("only %d connections were cut", total)
	} else {
		t.Logf("%d connections were cut", total)
	}

	s.conclude(t)
	s.requireAnswers(t)
	s.requireOutcomes(t, sale, succeeded, "limit_exceeded")
	for how, late := range s.ledger.lateness() {
		if last := late[len(late)-1]; last > toldWithin {
			t.Errorf("one who waited by %s was told %s after the decision, want at most %s", how, last, toldWithin)
		}
	}
}
