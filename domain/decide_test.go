package domain_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"seckill/domain"
)

const orderID = "an order"

// request is a purchase of an unnamed buyer in the middle of the window.
func request(quantity int) domain.Purchase {
	return domain.Purchase{RequestID: uuid.New(), UserID: "42", Quantity: quantity, AcceptedAt: during}
}

// reasonOf is the reason of a rejection, or "" of a confirmation.
func reasonOf(t *testing.T, outcome domain.Event) domain.Reason {
	t.Helper()
	switch outcome := outcome.(type) {
	case domain.PurchaseConfirmed:
		return ""
	case domain.PurchaseRejected:
		return outcome.Reason
	default:
		t.Fatalf("the outcome is a %T", outcome)
		return ""
	}
}

func TestSale_Decide_Confirmed(t *testing.T) {
	t.Parallel()
	shanghai := time.FixedZone("Shanghai", 8*60*60)
	decidedAt := during.Add(7 * time.Millisecond)

	outcome := saleOf(10, 3).Decide(request(3), domain.Holding{}, orderID, decidedAt.In(shanghai))

	want := domain.PurchaseConfirmed{
		OrderID:  orderID,
		Quantity: 3,
		Amount:   599_700,
		Currency: "CNY",
		PayBy:    decidedAt.Add(15 * time.Minute),
	}
	if diff := cmp.Diff(domain.Event(want), outcome); diff != "" {
		t.Errorf("the outcome (-want +got):\n%s", diff)
	}
	if payBy := outcome.(domain.PurchaseConfirmed).PayBy; payBy.Location() != time.UTC {
		t.Errorf("payBy is in %s, want UTC: it is stored as it is written", payBy.Location())
	}
}

// Every boundary of the stock (FAULTS 1, 4): the last unit sells, the one after
// it does not, and a request that is larger than what is left gets nothing.
func TestSale_Decide_Stock(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		available int64
		quantity  int
		want      domain.Reason
	}{
		"NoneLeft":             {0, 1, domain.ReasonSoldOut},
		"NoneLeftForMany":      {0, 1_000, domain.ReasonSoldOut},
		"LastUnit":             {1, 1, ""},
		"OneMoreThanTheLast":   {1, 2, domain.ReasonSoldOut},
		"OneLessThanAll":       {5, 4, ""},
		"All":                  {5, 5, ""},
		"OneMoreThanAll":       {5, 6, domain.ReasonSoldOut},
		"LargestStock":         {domain.MaxStock, 1_000, ""},
		"LargestQuantity":      {1_000, 1_000, ""},
		"OneShortOfTheLargest": {999, 1_000, domain.ReasonSoldOut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outcome := saleOf(test.available, domain.MaxPerUserLimit).Decide(request(test.quantity), domain.Holding{}, orderID, during)
			if got := reasonOf(t, outcome); got != test.want {
				t.Errorf("%d of %d left: got %q, want %q", test.quantity, test.available, got, test.want)
			}
		})
	}
}

// What counts is when the request was accepted, to the microsecond (FAULTS 12);
// when it is decided does not matter.
func TestSale_Decide_Window(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		acceptedAt time.Time
		want       domain.Reason
	}{
		"LongBefore":               {opensAt.Add(-time.Hour), domain.ReasonSaleNotOpen},
		"MicrosecondBeforeItOpens": {opensAt.Add(-time.Microsecond), domain.ReasonSaleNotOpen},
		"AsItOpens":                {opensAt, ""},
		"AsItOpensElsewhere":       {opensAt.In(time.FixedZone("Shanghai", 8*60*60)), ""},
		"MicrosecondBeforeTheEnd":  {closesAt.Add(-time.Microsecond), ""},
		"AsItCloses":               {closesAt, domain.ReasonSaleClosed},
		"MicrosecondAfterTheEnd":   {closesAt.Add(time.Microsecond), domain.ReasonSaleClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sale := saleOf(10, 1)
			if got := sale.Refusal(test.acceptedAt); got != test.want {
				t.Errorf("the door says %q, want %q", got, test.want)
			}
			for _, decidedAt := range []time.Time{opensAt.Add(-time.Hour), during, closesAt.Add(time.Hour)} {
				p := request(1)
				p.AcceptedAt = test.acceptedAt
				if got := reasonOf(t, sale.Decide(p, domain.Holding{}, orderID, decidedAt)); got != test.want {
					t.Errorf("accepted at %s, decided at %s: got %q, want %q", p.AcceptedAt, decidedAt, got, test.want)
				}
			}
		})
	}
}

func TestSale_Decide_Limit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limit, held, quantity int
		want                  domain.Reason
	}{
		"FirstOfOne":       {1, 0, 1, ""},
		"SecondOfOne":      {1, 1, 1, domain.ReasonLimitExceeded},
		"UpToTheLimit":     {5, 3, 2, ""},
		"OneOver":          {5, 3, 3, domain.ReasonLimitExceeded},
		"OverByItself":     {5, 0, 6, domain.ReasonLimitExceeded},
		"LimitWasLowered":  {2, 5, 1, domain.ReasonLimitExceeded},
		"LargestLimit":     {domain.MaxPerUserLimit, 0, domain.MaxPerUserLimit, ""},
		"OverLargestLimit": {domain.MaxPerUserLimit, 1, domain.MaxPerUserLimit, domain.ReasonLimitExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := domain.Holding{Quantity: test.held, RequestID: uuid.New(), OrderID: "the order before"}
			outcome := saleOf(domain.MaxStock, test.limit).Decide(request(test.quantity), held, orderID, during)
			if got := reasonOf(t, outcome); got != test.want {
				t.Fatalf("holds %d of %d and asks for %d: got %q, want %q", test.held, test.limit, test.quantity, got, test.want)
			}
			rejected, ok := outcome.(domain.PurchaseRejected)
			if ok && (rejected.ExistingRequestID != held.RequestID || rejected.ExistingOrderID != held.OrderID) {
				t.Errorf("got %+v, want it to name what the buyer holds: %+v", rejected, held)
			}
		})
	}
}

// When several reasons hold, the buyer is told the one that does not depend on
// what others did: the window before the limit, the limit before the stock
// (FAULTS 4).
func TestSale_Decide_OrderOfReasons(t *testing.T) {
	t.Parallel()
	holder := domain.Holding{Quantity: 1, RequestID: uuid.New(), OrderID: "the order before"}
	late := request(1)
	late.AcceptedAt = closesAt
	for name, test := range map[string]struct {
		purchase domain.Purchase
		held     domain.Holding
		want     domain.Reason
	}{
		"WindowBeforeLimitAndStock": {late, holder, domain.ReasonSaleClosed},
		"WindowBeforeStock":         {late, domain.Holding{}, domain.ReasonSaleClosed},
		"LimitBeforeStock":          {request(1), holder, domain.ReasonLimitExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := reasonOf(t, saleOf(0, 1).Decide(test.purchase, test.held, orderID, during)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// A quantity that intake should never have let in is decided too: it fails, and
// never changes the stock by something negative.
func TestSale_Decide_ImpossibleQuantity(t *testing.T) {
	t.Parallel()
	for _, quantity := range []int{-1 << 31, -1, 0, domain.MaxPerUserLimit + 1, 1<<63 - 1} {
		outcome := saleOf(10, domain.MaxPerUserLimit).Decide(request(quantity), domain.Holding{}, orderID, during)
		if got := reasonOf(t, outcome); got != domain.ReasonInternal {
			t.Errorf("quantity %d: got %q, want %q", quantity, got, domain.ReasonInternal)
		}
	}
}

// Two requests of one buyer in one batch (FAULTS 5): one order, and the second
// learns of it.
func TestSale_Decide_SameBuyerTwiceInABatch(t *testing.T) {
	t.Parallel()
	sale := saleOf(10, 1)
	var held domain.Holding
	first, second := request(1), request(1)

	outcome := sale.Decide(first, held, orderID, during)
	if got := reasonOf(t, outcome); got != "" {
		t.Fatalf("the first: got %q", got)
	}
	sale.Apply(outcome)
	held.Apply(first.RequestID, outcome)
	outcome = sale.Decide(second, held, "another order", during)

	want := domain.PurchaseRejected{Reason: domain.ReasonLimitExceeded, ExistingRequestID: first.RequestID, ExistingOrderID: orderID}
	if diff := cmp.Diff(domain.Event(want), outcome); diff != "" {
		t.Errorf("the second (-want +got):\n%s", diff)
	}
	if sale.Available != 9 {
		t.Errorf("%d units are free, want 9", sale.Available)
	}
}

// A request that is too large for what is left costs nobody else a unit (FAULTS
// 13): a smaller one after it still wins.
func TestSale_Decide_SmallerOneStillWins(t *testing.T) {
	t.Parallel()
	sale := saleOf(2, 3)
	tooLarge := sale.Decide(request(3), domain.Holding{}, orderID, during)
	sale.Apply(tooLarge)
	if got := reasonOf(t, tooLarge); got != domain.ReasonSoldOut {
		t.Errorf("3 of 2: got %q, want %q", got, domain.ReasonSoldOut)
	}
	if got := reasonOf(t, sale.Decide(request(2), domain.Holding{}, orderID, during)); got != "" {
		t.Errorf("2 of 2: got %q, want a confirmation", got)
	}
}

// An amount stays exact in a browser, however much is bought.
func TestSale_Decide_LargestAmount(t *testing.T) {
	t.Parallel()
	sale := saleOf(domain.MaxStock, domain.MaxPerUserLimit)
	sale.Price = domain.MaxPrice
	outcome := sale.Decide(request(domain.MaxPerUserLimit), domain.Holding{}, orderID, during)
	confirmed, ok := outcome.(domain.PurchaseConfirmed)
	if !ok {
		t.Fatalf("got %+v", outcome)
	}
	if want := int64(9_000_000_000_000_000); confirmed.Amount != want || float64(confirmed.Amount) > 1<<53 {
		t.Errorf("the amount is %d, want %d, below 2^53", confirmed.Amount, want)
	}
}
