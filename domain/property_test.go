package domain_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"seckill/domain"
)

// decision is one purchase of a sale with what was so before and after it.
type decision struct {
	purchase                domain.Purchase
	outcome                 domain.Event
	saleBefore, saleAfter   domain.Sale
	heldBefore, heldAfter   domain.Holding
	opened, closed, limited bool // what the request is up against, whatever the stock
}

func (d decision) confirmed() bool {
	_, ok := d.outcome.(domain.PurchaseConfirmed)
	return ok
}

func (d decision) reason() domain.Reason {
	rejected, _ := d.outcome.(domain.PurchaseRejected)
	return rejected.Reason
}

// decideAny draws a sale and a crowd, and decides the requests in the order in
// which they were drawn, as a batch does: each against what the one before left.
func decideAny(t *rapid.T) []decision {
	t.Helper()
	sale := saleOf(rapid.Int64Range(0, 12).Draw(t, "stock"), rapid.IntRange(1, 4).Draw(t, "limit"))
	sale.Available = rapid.Int64Range(0, sale.Stock).Draw(t, "available")
	held := make(map[string]domain.Holding)
	purchases := rapid.SliceOfN(rapid.Custom(drawPurchase), 0, 40).Draw(t, "purchases")
	decisions := make([]decision, 0, len(purchases))
	for i, p := range purchases {
		holding := held[p.UserID]
		d := decision{
			purchase:   p,
			saleBefore: sale,
			heldBefore: holding,
			opened:     !p.AcceptedAt.Before(opensAt),
			closed:     !p.AcceptedAt.Before(closesAt),
			limited:    holding.Quantity+p.Quantity > sale.PerUserLimit,
		}
		d.outcome = sale.Decide(p, holding, fmt.Sprint("order ", i), during)
		sale.Apply(d.outcome)
		holding.Apply(p.RequestID, d.outcome)
		held[p.UserID] = holding
		d.saleAfter, d.heldAfter = sale, holding
		decisions = append(decisions, d)
	}
	return decisions
}

func drawPurchase(t *rapid.T) domain.Purchase {
	var id uuid.UUID
	copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
	boundary := rapid.SampledFrom([]time.Time{opensAt, during, during, during, closesAt}).Draw(t, "near")
	return domain.Purchase{
		RequestID:  id,
		UserID:     rapid.SampledFrom([]string{"Ann", "Ben", "Cai", "Dan"}).Draw(t, "buyer"),
		Quantity:   rapid.IntRange(-1, 6).Draw(t, "quantity"),
		AcceptedAt: boundary.Add(time.Duration(rapid.IntRange(-2, 2).Draw(t, "microseconds")) * time.Microsecond),
	}
}

func TestSale_Decide_NeverOversells(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sold := int64(0)
		for _, d := range decideAny(t) {
			if d.confirmed() {
				sold += int64(d.purchase.Quantity)
			}
			free := d.saleAfter.Available
			if free < 0 {
				t.Fatalf("%d units are free after %+v", free, d.outcome)
			}
			if began := free + sold; began > d.saleAfter.Stock {
				t.Fatalf("%d units are sold and %d free, of %d", sold, free, d.saleAfter.Stock)
			}
			if d.saleBefore.Available-free != d.heldAfterMore() {
				t.Fatalf("the stock lost %d units, the buyer got %d", d.saleBefore.Available-free, d.heldAfterMore())
			}
		}
	})
}

// heldAfterMore is how many units the decision gave to the buyer.
func (d decision) heldAfterMore() int64 { return int64(d.heldAfter.Quantity - d.heldBefore.Quantity) }

func TestSale_Decide_NeverOverTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bought := make(map[string]int)
		for _, d := range decideAny(t) {
			if d.confirmed() {
				bought[d.purchase.UserID] += d.purchase.Quantity
			}
			if n := bought[d.purchase.UserID]; n > d.saleAfter.PerUserLimit || n != d.heldAfter.Quantity {
				t.Fatalf("%s bought %d and holds %d, with a limit of %d", d.purchase.UserID, n, d.heldAfter.Quantity, d.saleAfter.PerUserLimit)
			}
		}
	})
}

func TestSale_Decide_RejectionChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for _, d := range decideAny(t) {
			if !d.confirmed() && (!cmp.Equal(d.saleAfter, d.saleBefore) || d.heldAfter != d.heldBefore) {
				t.Fatalf("%+v changed the sale or what the buyer holds:\nbefore %+v %+v\nafter  %+v %+v",
					d.outcome, d.saleBefore, d.heldBefore, d.saleAfter, d.heldAfter)
			}
		}
	})
}

// No undersell: whoever may buy gets it, as long as enough is free.
func TestSale_Decide_NeverUndersells(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for _, d := range decideAny(t) {
			mayBuy := d.purchase.Quantity > 0 && d.opened && !d.closed && !d.limited
			enough := int64(d.purchase.Quantity) <= d.saleBefore.Available
			if d.confirmed() != (mayBuy && enough) {
				t.Fatalf("%d wanted and %d free, may buy: %t, yet got %+v",
					d.purchase.Quantity, d.saleBefore.Available, mayBuy, d.outcome)
			}
			if mayBuy && !enough && d.reason() != domain.ReasonSoldOut {
				t.Fatalf("%d wanted and %d free: got %+v", d.purchase.Quantity, d.saleBefore.Available, d.outcome)
			}
		}
	})
}

// Whoever holds as much as one may is told so, and told what they hold, whether
// anything is left or not (FAULTS 4).
func TestSale_Decide_LimitBeforeStock(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for _, d := range decideAny(t) {
			if d.purchase.Quantity < 1 || !d.opened || d.closed || !d.limited {
				continue
			}
			want := domain.PurchaseRejected{
				Reason:            domain.ReasonLimitExceeded,
				ExistingRequestID: d.heldBefore.RequestID,
				ExistingOrderID:   d.heldBefore.OrderID,
			}
			if d.outcome != domain.Event(want) {
				t.Fatalf("got %+v, want %+v", d.outcome, want)
			}
		}
	})
}

// A crowd that comes in another order buys as much, when all want one unit.
func TestSale_Decide_OrderDoesNotMatterForTheTotal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		buyers := rapid.SliceOfN(rapid.SampledFrom([]string{"Ann", "Ben", "Cai", "Dan", "Eve"}), 0, 30).Draw(t, "buyers")
		shuffled := rapid.Permutation(buyers).Draw(t, "shuffled")
		stock, limit := rapid.Int64Range(0, 12).Draw(t, "stock"), rapid.IntRange(1, 4).Draw(t, "limit")
		if first, second := soldTo(stock, limit, buyers), soldTo(stock, limit, shuffled); first != second {
			t.Fatalf("%d sold in one order, %d in another", first, second)
		}
	})
}

// soldTo is how many units are sold to buyers of one unit each.
func soldTo(stock int64, limit int, buyers []string) int64 {
	sale := saleOf(stock, limit)
	held := make(map[string]domain.Holding)
	for _, buyer := range buyers {
		holding := held[buyer]
		p := domain.Purchase{UserID: buyer, Quantity: 1, AcceptedAt: during}
		outcome := sale.Decide(p, holding, orderID, during)
		sale.Apply(outcome)
		holding.Apply(p.RequestID, outcome)
		held[buyer] = holding
	}
	return stock - sale.Available
}
