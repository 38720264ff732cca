package domain_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"seckill/domain"
)

// change is a change of a sale with when it was recorded.
type change struct {
	event domain.Event
	at    time.Time
}

// operate draws what an operator does to a sale while units of it are sold, each at
// a later moment, and returns the sale and the changes that came of it.
func operate(t *rapid.T) (domain.Sale, []change) {
	t.Helper()
	sale := saleOf(rapid.Int64Range(1, 20).Draw(t, "stock"), 1)
	var changes []change
	now := opensAt.Add(-time.Minute)
	for range rapid.IntRange(0, 30).Draw(t, "commands") {
		now = now.Add(time.Duration(rapid.Int64Range(1, int64(3*time.Minute/microsecond)).Draw(t, "microseconds later")) * microsecond)
		var event domain.Event
		var err error
		switch rapid.SampledFrom([]string{"pause", "resume", "pause", "resume", "stock", "sell", "sell", "reschedule", "close"}).Draw(t, "command") {
		case "pause":
			event, err = sale.Pause(now)
		case "resume":
			event, err = sale.Resume(now)
		case "stock":
			event, err = sale.ChangeStock(rapid.Int64Range(-10, 10).Draw(t, "delta"), now)
		case "sell":
			sale.Apply(sale.Decide(domain.Purchase{UserID: "42", Quantity: 1, AcceptedAt: now}, domain.Holding{}, orderID, now))
		case "reschedule":
			opens, closes := opensAt.Add(time.Duration(rapid.IntRange(-2, 60).Draw(t, "opens"))*time.Minute), closesAt.Add(time.Duration(rapid.IntRange(-30, 30).Draw(t, "closes"))*time.Minute)
			event, err = sale.Reschedule(&opens, &closes, now)
		case "close":
			if rapid.IntRange(0, 3).Draw(t, "really") == 0 {
				event, err = sale.Close(now)
			}
		}
		if err == nil && event != nil {
			sale.ApplyChange(event, now)
			changes = append(changes, change{event, now})
		}
	}
	return sale, changes
}

// The stock follows the changes, and what is free is never negative nor more than
// there is.
func TestSale_Operate_Stock(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sale, changes := operate(t)
		var added, removed int64
		for _, c := range changes {
			switch event := c.event.(type) {
			case domain.StockAdded:
				added += event.Quantity
			case domain.StockRemoved:
				removed += event.Quantity
			}
		}
		if sale.Available < 0 || sale.Available > sale.Stock || sale.Stock < 0 {
			t.Fatalf("%d of %d are free", sale.Available, sale.Stock)
		}
		if sale.Stock > 20+added-removed || sale.Stock < 1+added-removed {
			t.Fatalf("the stock is %d after %d were added and %d removed", sale.Stock, added, removed)
		}
	})
}

// A moment is refused as paused exactly if the last pause or resumption up to it,
// inclusive, was a pause; as closed exactly from the closing on.
func TestSale_Operate_Refusal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sale, changes := operate(t)
		moments := []time.Time{sale.OpensAt, sale.ClosesAt, opensAt, during, closesAt}
		for _, c := range changes {
			moments = append(moments, c.at)
		}
		for _, near := range moments {
			for _, moment := range []time.Time{near.Add(-microsecond), near, near.Add(microsecond)} {
				paused, closed := false, !moment.Before(sale.ClosesAt)
				for _, c := range changes {
					if c.at.After(moment) {
						break
					}
					switch c.event.(type) {
					case domain.SalePaused:
						paused = true
					case domain.SaleResumed:
						paused = false
					case domain.SaleClosed:
						closed = true
					}
				}
				want := domain.Reason("")
				switch {
				case closed:
					want = domain.ReasonSaleClosed
				case moment.Before(sale.OpensAt):
					want = domain.ReasonSaleNotOpen
				case paused:
					want = domain.ReasonSalePaused
				}
				if got := sale.Refusal(moment); got != want {
					t.Fatalf("at %s: got %q, want %q, after %+v", moment, got, want, changes)
				}
			}
		}
	})
}

// Whatever is done later, a moment that has passed is judged as it was: what was
// decided stays true.
func TestSale_Operate_NeverJudgesThePastAnew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sale, changes := operate(t)
		replayed := saleOf(sale.Stock, 1)
		for _, c := range changes {
			past := c.at.Add(-time.Duration(rapid.Int64Range(1, int64(time.Hour/microsecond)).Draw(t, "microseconds before")) * microsecond)
			before := replayed.Refusal(past)
			replayed.ApplyChange(c.event, c.at)
			if after := replayed.Refusal(past); after != before {
				t.Fatalf("%s was judged %q and after %+v %q", past, before, c, after)
			}
		}
	})
}

// A sale that was closed by hand takes no further command.
func TestSale_Operate_ClosedStaysClosed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sale, changes := operate(t)
		for i, c := range changes {
			if _, closed := c.event.(domain.SaleClosed); closed && i < len(changes)-1 {
				t.Fatalf("after it was closed came %+v", changes[i+1:])
			}
		}
		if sale.ClosedAt.IsZero() {
			return
		}
		if _, err := sale.Resume(sale.ClosedAt); !errors.Is(err, domain.ErrSaleClosed) {
			t.Fatalf("resumed: %v", err)
		}
	})
}

// A copy of a sale keeps its own pauses.
func TestSale_ApplyChange_LeavesCopiesAlone(t *testing.T) {
	t.Parallel()
	sale := saleOf(10, 1)
	sale.ApplyChange(domain.SalePaused{}, during)
	first, second := sale, sale
	first.ApplyChange(domain.SaleResumed{}, during.Add(time.Second))
	if got := second.Status(during); got != domain.SaleStatusPaused {
		t.Errorf("the copy is %s, want it paused as before", got)
	}
	second.ApplyChange(domain.SaleResumed{}, during.Add(time.Minute))
	second.ApplyChange(domain.SalePaused{}, during.Add(2*time.Minute))
	if len(first.Pauses) != 1 || !first.Pauses[0].Until.Equal(during.Add(time.Second)) {
		t.Errorf("the pauses became %+v", first.Pauses)
	}
}
