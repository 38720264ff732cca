package acceptance_test

import (
	"errors"
	"fmt"
	"sync"
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
	// that the leaving node has taken in but cannot store, one of them for certain.
	undecided := s.holdSale(t, silent)
	waitedFor := s.accept(t, leaver, order{sale: silent, user: "42", quantity: 1})
	waiting := s.wait(t, waitedFor.RequestID)
	certain := order{sale: ample, user: "in-flight", quantity: 1, key: "held"}
	unstored := s.hold(t, `insert into idempotency_keys (user_id, key, request_id, body_hash)
		values ($1, $2, gen_random_uuid(), '')`, certain.user, certain.key)
	var answers sync.WaitGroup
	for i := range inFlight {
		answers.Go(func() {
			// Some come too late, and are not accepted then.
			_, _ = s.buy(t.Context(), leaver, order{sale: ample, user: fmt.Sprint("in-flight-", i), quantity: 1})
		})
	}
	answers.Go(func() {
		for {
			_, err := s.buy(t.Context(), leaver, certain)
			if refused, ok := errors.AsType[*problem](err); ok && refused.Code == "overloaded" {
				time.Sleep(20 * time.Millisecond) // the crowd was there first
				continue
			}
			if err != nil {
				t.Errorf("the purchase in flight: %v", err)
			}
			return
		}
	})
	unstored.awaitIntake(t)

	leaver.terminate(t)
	askedAt := time.Now()
	eventually(t, 10*time.Second, "the leaving node takes no more connections", leaver.refusesConnections)
	unstored.release()
	answers.Wait()
	s.awaitLetGo(t, leaver, waiting)
	undecided.release()
	leaver.awaitExit(t, graceWithin)
	t.Logf("node %s ended %s after SIGTERM", leaver.name, time.Since(askedAt).Round(time.Millisecond))
	if result := s.awaitResult(t, stayer, waitedFor.RequestID); result.Status != succeeded {
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
