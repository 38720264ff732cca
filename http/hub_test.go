package http_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/http"
	"seckill/projections"
)

// outcomeOf is the event that a purchase found everything sold.
func outcomeOf(id uuid.UUID) eventstore.Event {
	return eventstore.Event{StreamID: id, Version: 2, SaleID: 1001, Data: domain.PurchaseRejected{Reason: domain.ReasonSoldOut}, RecordedAt: time.Now()}
}

// processing is a purchase that was accepted just now.
func processing(id uuid.UUID) projections.Purchase {
	return projections.Purchase{RequestID: id, Version: 1, SaleID: 1001, UserID: "42", Quantity: 1, Status: projections.StatusProcessing, AcceptedAt: time.Now()}
}

// newHub is a hub without a database.
func newHub() *http.Hub {
	return http.NewHub(nil, projections.NewPurchases(eventstore.New()), http.NewMetrics(prometheus.NewRegistry()), quiet())
}

// The outcome may be heard before the node that accepted has told its hub.
func TestHub_ResultBeforeAcceptance(t *testing.T) {
	t.Parallel()
	hub, id := newHub(), uuid.Must(uuid.NewV7())
	hub.Committed([]eventstore.Event{outcomeOf(id)})
	hub.Accepted(processing(id))
	decided := make(http.Mailbox, 1)
	p, watch, err := hub.Watch(t.Context(), id, decided)
	if err != nil || watch != nil || p.Status != projections.StatusFailed || p.UserID != "42" {
		t.Errorf("got %+v, %v and %v, want the failure of its buyer at once", p, watch, err)
	}
}

// A result that is known before anyone asks is told at once.
func TestHub_ResultBeforeAnyoneAsks(t *testing.T) {
	t.Parallel()
	hub, id := newHub(), uuid.Must(uuid.NewV7())
	hub.Accepted(processing(id))
	hub.Committed([]eventstore.Event{outcomeOf(id)})
	decided := make(http.Mailbox, 1)
	p, watch, err := hub.Watch(t.Context(), id, decided)
	if err != nil || watch != nil || p.Status != projections.StatusFailed {
		t.Errorf("got %+v, %v and %v, want the failure and nothing to wait for", p, watch, err)
	}
}

// What is told twice, or told again as it was before, changes nothing: older
// never overwrites newer.
func TestHub_OlderNeverOverwritesNewer(t *testing.T) {
	t.Parallel()
	hub, id := newHub(), uuid.Must(uuid.NewV7())
	hub.Accepted(processing(id))
	hub.Committed([]eventstore.Event{outcomeOf(id), outcomeOf(id)})
	won := outcomeOf(id)
	won.Data = domain.PurchaseConfirmed{OrderID: "a second outcome"}
	hub.Committed([]eventstore.Event{won})
	hub.Accepted(processing(id))
	if p, err := hub.Get(t.Context(), id); err != nil || p.Reason != domain.ReasonSoldOut || p.OrderID != "" {
		t.Errorf("got %+v and %v, want what was told first", p, err)
	}
}

// Events that are no outcome, such as the acceptance itself, tell nobody.
func TestHub_OtherEvents(t *testing.T) {
	t.Parallel()
	hub, id := newHub(), uuid.Must(uuid.NewV7())
	hub.Accepted(processing(id))
	decided := make(http.Mailbox, 1)
	_, watch, err := hub.Watch(t.Context(), id, decided)
	if err != nil || watch == nil {
		t.Fatalf("got %v and %v, want something to wait for", watch, err)
	}
	defer watch.Stop()
	requested := outcomeOf(id)
	requested.Version, requested.Data = 1, domain.PurchaseRequested{UserID: "42", Quantity: 1}
	unreadable := outcomeOf(id)
	unreadable.Version, unreadable.Data = 3, domain.Unreadable{Type: "PurchaseForgotten"}
	hub.Committed([]eventstore.Event{requested, unreadable})
	select {
	case p := <-decided:
		t.Errorf("it was told %+v", p)
	default:
	}
	hub.Committed([]eventstore.Event{outcomeOf(id)})
	select {
	case <-decided:
	default:
		t.Error("after them it was not told the outcome")
	}
}

// A hundred subscribers of one request are all told, each once.
func TestHub_ManySubscribers(t *testing.T) {
	t.Parallel()
	hub, id := newHub(), uuid.Must(uuid.NewV7())
	hub.Accepted(processing(id))
	var watches []*http.Watch
	var boxes []http.Mailbox
	for range 100 {
		decided := make(http.Mailbox, 1)
		boxes = append(boxes, decided)
		_, watch, err := hub.Watch(t.Context(), id, decided)
		if err != nil || watch == nil {
			t.Fatalf("got %v and %v, want something to wait for", watch, err)
		}
		watches = append(watches, watch)
	}
	watches[17].Stop() // leaves
	hub.Committed([]eventstore.Event{outcomeOf(id)})
	hub.Committed([]eventstore.Event{outcomeOf(id)})
	hub.Accepted(processing(id))
	for i, watch := range watches {
		told := 0
		for range 2 {
			select {
			case <-boxes[i]:
				told++
			default:
			}
		}
		if want := 1; told != want && i != 17 || told != 0 && i == 17 {
			t.Errorf("subscriber %d was told %d times", i, told)
		}
		watch.Stop() // also after it was told
		watch.Stop()
	}
	if got := hub.Waiters(id); got != 0 {
		t.Errorf("%d wait after all left", got)
	}
}

// A wait for a request that does not exist leaves nothing behind, however many
// ask for it.
func TestHub_UnknownRequest(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	id := uuid.Must(uuid.NewV7())
	if _, watch, err := n.hub.Watch(t.Context(), id, make(http.Mailbox, 1)); !errors.Is(err, projections.ErrNotFound) || watch != nil {
		t.Errorf("got %v and %v, want ErrNotFound", watch, err)
	}
	if n.hub.Knows(id) {
		t.Error("the hub remembers a request that does not exist")
	}
}

// The hub remembers so many purchases and no more, but never forgets one that is
// waited for.
func TestHub_Bounded(t *testing.T) {
	t.Parallel()
	hub := newHub()
	waited, forgotten := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	hub.Accepted(processing(forgotten))
	hub.Accepted(processing(waited))
	decided := make(http.Mailbox, 1)
	_, watch, err := hub.Watch(t.Context(), waited, decided)
	if err != nil || watch == nil {
		t.Fatalf("got %v and %v, want something to wait for", watch, err)
	}
	for i := range 200_000 {
		id := uuid.UUID{0: byte(i >> 16), 1: byte(i >> 8), 2: byte(i), 15: byte(i)}
		hub.Accepted(processing(id))
	}
	if hub.Knows(forgotten) {
		t.Error("the hub forgets nothing")
	}
	hub.Committed([]eventstore.Event{outcomeOf(waited)})
	select {
	case <-decided:
	default:
		t.Error("the hub forgot a purchase that is waited for")
	}
}

// Subscribing, asking and deciding at the same time, in every order: whoever
// waits is told (FAULTS 19).
func TestHub_NoResultIsMissed(t *testing.T) {
	t.Parallel()
	hub := newHub()
	for range 2_000 {
		id := uuid.Must(uuid.NewV7())
		hub.Accepted(processing(id))
		start := make(chan struct{})
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				<-start
				ctx, cancel := context.WithTimeout(t.Context(), soon)
				defer cancel()
				decided := make(http.Mailbox, 1)
				p, watch, err := hub.Watch(ctx, id, decided)
				if err != nil {
					t.Error(err)
					return
				}
				if watch == nil {
					if !p.Decided() {
						t.Errorf("got %+v and nothing to wait for", p)
					}
					return
				}
				defer watch.Stop()
				select {
				case p := <-decided:
					if p.Reason != domain.ReasonSoldOut {
						t.Errorf("it was told %+v", p)
					}
				case <-ctx.Done():
					t.Error("a waiter was not told")
				}
			})
		}
		all.Go(func() { <-start; hub.Committed([]eventstore.Event{outcomeOf(id)}) })
		close(start)
		all.Wait()
	}
}

// For a second after its acceptance a purchase is known without a look at the
// database, and its result from then on.
func TestHub_Get_Fresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hub, id := newHub(), uuid.Must(uuid.NewV7())
		hub.Accepted(processing(id))
		time.Sleep(time.Second - 1)
		if p, err := hub.Get(t.Context(), id); err != nil || p.Status != projections.StatusProcessing {
			t.Errorf("got %+v and %v", p, err)
		}
		hub.Committed([]eventstore.Event{outcomeOf(id)})
		time.Sleep(time.Hour)
		if p, err := hub.Get(t.Context(), id); err != nil || p.Status != projections.StatusFailed {
			t.Errorf("an hour later: got %+v and %v", p, err)
		}
	})
}
