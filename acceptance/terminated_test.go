//go:build soak

package acceptance_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestTerminatedNode asks a node to stop under load. It must answer what it has
// taken in and whoever waits there, and leave the rest to the other node.
func TestTerminatedNode(t *testing.T) {
	const inFlight = 100
	s := startService(t, 2)
	leaver, stayer := s.nodes[0], s.nodes[1]
	ample := s.schedule(t, plan{Stock: 5000, PerUserLimit: 2})
	scarce := s.schedule(t, plan{Stock: 100, PerUserLimit: 1})
	silent := s.schedule(t, plan{Stock: 1, PerUserLimit: 1})
	crowd := s.send(t, patient(population(s.nodes,
		demand{sale: ample, purchases: 800, users: 700, maxQuantity: 2},
		demand{sale: scarce, purchases: 400, users: 300, maxQuantity: 1},
	)), 5*time.Second)
	crowd.await(t, 0.4)

	// A request that is undecided, for which people wait at both nodes; and purchases
	// that the leaving node has taken in but cannot store.
	decide := s.begin(t, "select from sales where sale_id = $1 for no key update", silent)
	undecided := s.accept(t, leaver, order{sale: silent, user: "42", quantity: 1})
	waiting := s.wait(t, undecided.RequestID)
	store := s.begin(t, "lock table river_job in share mode")
	var answers sync.WaitGroup
	var answered atomic.Int64
	for i := range inFlight {
		answers.Go(func() {
			o := order{sale: ample, user: fmt.Sprint("in-flight-", i), quantity: 1}
			if _, err := s.buy(t.Context(), leaver, o); err == nil {
				answered.Add(1) // the others have come too late, and are not among the accepted
			}
		})
	}
	s.awaitWaitingIntake(t)

	leaver.terminate(t)
	askedAt := time.Now()
	eventually(t, 5*time.Second, "the leaving node takes no more connections", leaver.refusesConnections)
	if answered.Load() > 0 {
		t.Error("purchases were answered before they were stored")
	}
	store()
	answers.Wait()
	t.Logf("%d of %d purchases in flight were answered", answered.Load(), inFlight)
	if answered.Load() == 0 {
		t.Error("no purchase was in flight, which shows nothing")
	}
	s.awaitLetGo(t, leaver, waiting)
	decide()
	leaver.awaitExit(t, graceWithin)
	t.Logf("node %s ended %s after SIGTERM", leaver.name, time.Since(askedAt).Round(time.Millisecond))
	if result := s.awaitResult(t, stayer, undecided.RequestID); result.Status != succeeded {
		t.Errorf("the purchase %s", result.Status)
	}

	crowd.gone()
	leaver.start(t)
	s.conclude(t)
	s.requireAnswers(t)
	s.requireOutcomes(t, ample, succeeded, "limit_exceeded")
	s.requireOutcomes(t, scarce, succeeded, "sold_out", "limit_exceeded")
}

// awaitLetGo waits until a node that stops has let those go who wait there: the
// answer to a long poll is that there is no result yet, and a stream ends.
func (s *service) awaitLetGo(t *testing.T, leaver *node, waiting []*waiter) {
	t.Helper()
	for _, w := range waiting {
		if w.node != leaver {
			continue
		}
		<-w.done
		let := w.err == nil && w.result.Status == processing
		if w.how == bySSE {
			let = errors.Is(w.err, errNoResult)
		}
		if !let {
			t.Errorf("who waited by %s at the node that stops was told %q, %v", w.how, w.result.Status, w.err)
		}
	}
}
