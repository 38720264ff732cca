package purchasing_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/postgres/postgrestest"
	"seckill/purchasing"
)

// refused submits a purchase and returns the reason for which it is refused at the
// door, or "" if it is accepted.
func (n *node) refused(t *testing.T, request purchasing.Request) domain.Reason {
	t.Helper()
	request.Quantity = 1
	_, err := n.intake.Submit(t.Context(), request)
	if refused, ok := errors.AsType[*purchasing.RefusedError](err); ok {
		return refused.Reason
	}
	if err != nil {
		t.Fatal(err)
	}
	return ""
}

// gateWithin is a second, and what a busy machine adds to it.
const gateWithin = 3 * time.Second

// The gate: what is sold out is refused at the door within a second, without a
// write, and sold again within a second of stock coming back (rule 7).
func TestIntake_Gate(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 500)
	n.work(t)
	n.background(t, n.board.Run)
	sale := n.sale(t, 1, 1)
	won := purchasing.Request{SaleID: sale, UserID: "winner", Quantity: 1, Key: "once", BodyHash: []byte("body")}
	first, err := n.intake.Submit(t.Context(), won)
	if err != nil {
		t.Fatal(err)
	}
	if got := n.decided(t, first.RequestID, 10*time.Second); got.OrderID == "" {
		t.Fatalf("the only buyer got %+v", got)
	}

	soldAt := time.Now()
	user := 0
	next := func() purchasing.Request {
		user++
		return purchasing.Request{SaleID: sale, UserID: fmt.Sprint(user)}
	}
	for n.refused(t, next()) != domain.ReasonSoldOut {
		if time.Since(soldAt) > gateWithin {
			t.Fatal("long after the last unit was sold, purchases are still taken in")
		}
		time.Sleep(5 * time.Millisecond)
	}
	requests := value[int](t, n, "select count(*) from events where type = 'PurchaseRequested'")
	for range 100 {
		if got := n.refused(t, next()); got != domain.ReasonSoldOut {
			t.Fatalf("refused as %q, want sold_out", got)
		}
	}
	if now := value[int](t, n, "select count(*) from events where type = 'PurchaseRequested'"); now != requests {
		t.Errorf("%d purchases were taken in after the gate had closed", now-requests)
	}

	// Whoever has won and asks again is told so, not that all is gone.
	again, err := n.intake.Submit(t.Context(), won)
	if err != nil || !again.Replay || again.RequestID != first.RequestID {
		t.Errorf("a repeated request got %+v and %v, want the first's answer", again, err)
	}

	n.exec(t, "update sales set stock = stock + 1, available = available + 1, revision = revision + 1 where sale_id = $1", sale)
	backAt := time.Now()
	for n.refused(t, next()) == domain.ReasonSoldOut {
		if time.Since(backAt) > gateWithin {
			t.Fatal("long after a unit came back, purchases are still refused")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Who was turned away is counted, exactly, also when it is not known whether a
// report was committed.
func TestDoor(t *testing.T) {
	t.Parallel()
	proxy, through := startProxy(t, postgrestest.New(t))
	n := newNode(t, through, 500)
	first, second := n.sale(t, 1, 1), n.sale(t, 1, 1)
	n.background(t, n.door.Run)
	count := func(sale int64, reason domain.Reason) int {
		return value[int](t, n, `select coalesce(sum((data->>'count')::int), 0) from events
			where type = 'PurchasesTurnedAway' and sale_id = $1 and data->>'reason' = $2`, sale, string(reason))
	}
	turnAway := func(times int) {
		for range times {
			n.door.TurnAway(first, domain.ReasonSoldOut)
			n.door.TurnAway(first, domain.ReasonSaleClosed)
			n.door.TurnAway(second, domain.ReasonSoldOut)
		}
	}
	turnAway(10)
	eventually(t, 5*time.Second, "ten are recorded", func() bool { return count(second, domain.ReasonSoldOut) == 10 })

	for _, cut := range []int32{cutAfterCommit, cutBeforeCommit} {
		before, cuts := count(second, domain.ReasonSoldOut), proxy.cuts.Load()
		proxy.when.Store(cut)
		turnAway(5)
		eventually(t, 10*time.Second, "a report was cut", func() bool { return proxy.cuts.Load() > cuts })
		proxy.when.Store(cutNever)
		turnAway(2)
		eventually(t, 10*time.Second, "seven more are recorded", func() bool { return count(second, domain.ReasonSoldOut) >= before+7 })
		time.Sleep(1500 * time.Millisecond) // another report, if there were one
		for sale, reasons := range map[int64][]domain.Reason{
			first:  {domain.ReasonSoldOut, domain.ReasonSaleClosed},
			second: {domain.ReasonSoldOut},
		} {
			for _, reason := range reasons {
				if got := count(sale, reason); got != before+7 {
					t.Errorf("cut %d: %d of sale %d turned away as %s, want %d", cut, got, sale, reason, before+7)
				}
			}
		}
	}
}

// What was accepted is decided within a bounded time: a sale that is behind takes
// no more in, and others are not affected.
func TestIntake_RefusesWhenDecidingIsBehind(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 500)
	n.background(t, n.backlog.Run)
	behind, other := n.sale(t, 100, 1), n.sale(t, 100, 1)
	n.submit(t, behind, "first", 1) // nobody decides it: the workers are not started
	user := 0
	eventually(t, 5*time.Second, "the sale takes no more in", func() bool {
		user++
		_, err := n.intake.Submit(t.Context(), purchasing.Request{SaleID: behind, UserID: fmt.Sprint(user), Quantity: 1})
		if err != nil && !errors.Is(err, purchasing.ErrOverloaded) {
			t.Fatal(err)
		}
		return err != nil
	})
	if undecided, oldest := n.backlog.Waiting(); undecided == 0 || oldest < time.Second {
		t.Errorf("%d wait, the oldest for %s; want some, for a second", undecided, oldest)
	}
	n.submit(t, other, "first", 1)

	n.work(t)
	var id uuid.UUID
	eventually(t, 10*time.Second, "it takes purchases in again", func() bool {
		accepted, err := n.intake.Submit(t.Context(), purchasing.Request{SaleID: behind, UserID: "late", Quantity: 1})
		id = accepted.RequestID
		return err == nil
	})
	n.decided(t, id, 5*time.Second)
}

// background runs a loop until the test ends.
func (n *node) background(t *testing.T, loop func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		loop(ctx)
	}()
	t.Cleanup(func() { cancel(); <-stopped })
}
