package http_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/purchasing"
)

// standStill keeps the database from taking anything in until release is called.
func (n *node) standStill(t *testing.T) (release func()) {
	t.Helper()
	blocker, err := pgx.Connect(t.Context(), n.url)
	if err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() { _ = blocker.Close(context.Background()) })
	t.Cleanup(release)
	if _, err := blocker.Exec(t.Context(), "begin; lock table events in exclusive mode"); err != nil {
		t.Fatal(err)
	}
	return release
}

// A purchase that the database does not take in for seconds may have been taken
// in all the same: its buyer is told the request ID to ask for (FAULTS 8).
func TestServer_RequestPurchase_DatabaseStandsStill(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 10, 1)
	n.buy(t, sale, by("first")) // from here on the door knows the sale
	release := n.standStill(t)

	p := n.post(t, purchases(sale), by("42")).problem(t, 503, "unavailable")

	if len(p.RequestID) != 36 {
		t.Fatalf("got %+v, want the ID of the request", p)
	}
	release()
	n.get(t, "/purchases/"+p.RequestID).problem(t, 404, "request_not_found") // so it was not, and may be sent again
}

// More than can wait is refused, before it is accepted (FAULTS 9).
func TestServer_RequestPurchase_Overloaded(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 10, 1)
	n.buy(t, sale, by("first"))
	release := n.standStill(t)
	full := make(chan struct{})
	fill := sync.OnceFunc(func() { close(full) })
	var waiting sync.WaitGroup
	for i := range 10_000 {
		waiting.Go(func() {
			_, err := n.intake.Submit(t.Context(), purchasing.Request{SaleID: sale, UserID: fmt.Sprint(i), Quantity: 1})
			if errors.Is(err, purchasing.ErrOverloaded) {
				fill()
			}
		})
	}
	select {
	case <-full:
	case <-time.After(soon):
		t.Fatal("there is always room")
	}

	n.post(t, purchases(sale), by("late")).problem(t, 503, "overloaded")
	a := n.post(t, "/seckill/submit", fmt.Sprintf(`{"userId":"late","goodsId":%d}`, sale))
	a.refusal(t, 503)
	if got := a.header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After is %q, want 1", got)
	}

	release()
	waiting.Wait()
	if taken := value[int](t, n, "select count(*) from events where data->>'userId' = 'late'"); taken > 0 {
		t.Errorf("%d purchases of the refused buyer were taken in", taken)
	}
}

// A sale that is behind refuses at once, whatever is asked for: not even the body
// is read. The others go on, and so do polls.
func TestServer_RequestPurchase_SaleIsBehind(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	behind, other := n.sale(t, 10, 1), n.sale(t, 10, 1)
	first := n.buy(t, behind, by("first")) // nobody decides it
	go n.backlog.Run(t.Context())
	for deadline := time.Now().Add(soon); !n.intake.Overloaded(behind); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the sale goes on to take purchases in")
		}
	}

	n.writesNothing(t, func() {
		for _, body := range []string{by("late"), "{"} {
			a := n.post(t, purchases(behind), body)
			a.problem(t, 503, "overloaded")
			if got := a.header.Get("Retry-After"); got != "1" {
				t.Errorf("Retry-After is %q, want 1", got)
			}
		}
	})
	n.buy(t, other, by("late"))
	if got := n.get(t, "/purchases/"+first.RequestID).purchase(t, 200).Status; got != "processing" {
		t.Errorf("a poll says %q, want processing", got)
	}
}

// A node that stops takes nothing in any more, and says so.
func TestServer_RequestPurchase_IntakeIsClosed(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 10, 1)
	n.intake.Close()
	n.writesNothing(t, func() {
		n.post(t, purchases(sale), by("42")).problem(t, 503, "unavailable")
		n.post(t, "/seckill/submit", fmt.Sprintf(`{"userId":42,"goodsId":%d}`, sale)).refusal(t, 503)
	})
}
