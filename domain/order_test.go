package domain_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"seckill/domain"
)

var payBy = during.Add(15 * time.Minute)

func confirmed() domain.PurchaseConfirmed {
	return domain.PurchaseConfirmed{OrderID: orderID, Quantity: 2, Amount: 399_800, Currency: "CNY", PayBy: payBy}
}

// orderAfter is the order of two units to which these events happened.
func orderAfter(events ...domain.Event) domain.Order {
	order := domain.NewOrder(confirmed())
	for _, event := range events {
		order.Apply(event)
	}
	return order
}

// The orders in each of their statuses.
var (
	pending        = orderAfter()
	paid           = orderAfter(domain.OrderPaid{PaymentReference: "pay-1", Amount: 399_800})
	cancelled      = orderAfter(domain.OrderCancelled{Quantity: 2})
	expired        = orderAfter(domain.OrderExpired{Quantity: 2})
	refunded       = orderAfter(domain.OrderPaid{PaymentReference: "pay-1"}, domain.OrderRefunded{Quantity: 2, PaymentReference: "refund-1"})
	inTime         = payBy.Add(-time.Microsecond)
	afterwards     = payBy.Add(time.Hour)
	paymentOfOrder = []domain.Event{domain.OrderPaid{PaymentReference: "pay-1", Amount: 399_800}}
)

func TestOrder_Pay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		order     domain.Order
		reference string
		now       time.Time
		want      []domain.Event
		err       error
	}{
		"AtOnce":                   {pending, "pay-1", during, paymentOfOrder, nil},
		"MicrosecondBeforePayBy":   {pending, "pay-1", inTime, paymentOfOrder, nil},
		"AtPayByElsewhere":         {pending, "pay-1", payBy.In(time.FixedZone("Shanghai", 8*60*60)), nil, domain.ErrPaymentTooLate},
		"AtPayBy":                  {pending, "pay-1", payBy, nil, domain.ErrPaymentTooLate},
		"Expired":                  {expired, "pay-1", afterwards, nil, domain.ErrPaymentTooLate},
		"ExpiredByAnEarlierClock":  {expired, "pay-1", inTime, nil, domain.ErrPaymentTooLate},
		"Cancelled":                {cancelled, "pay-1", inTime, nil, domain.ErrOrderCancelled},
		"CancelledAndTooLate":      {cancelled, "pay-1", afterwards, nil, domain.ErrOrderCancelled},
		"Again":                    {paid, "pay-1", inTime, nil, nil},
		"AgainAfterPayBy":          {paid, "pay-1", afterwards, nil, nil},
		"AnotherPayment":           {paid, "pay-2", inTime, nil, domain.ErrAlreadyPaid},
		"AgainAfterRefund":         {refunded, "pay-1", inTime, nil, nil},
		"AnotherPaymentAndRefund":  {refunded, "pay-2", inTime, nil, domain.ErrAlreadyPaid},
		"RefundIsNotThePayment":    {refunded, "refund-1", inTime, nil, domain.ErrAlreadyPaid},
		"ReferenceInOtherCapitals": {paid, "PAY-1", inTime, nil, domain.ErrAlreadyPaid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, err := test.order.Pay(test.reference, new(int64(399_800)), test.now)
			checkDecision(t, events, err, test.want, test.err)
		})
	}
}

func checkDecision(t *testing.T, events []domain.Event, err error, want []domain.Event, wantErr error) {
	t.Helper()
	if !errors.Is(err, wantErr) {
		t.Errorf("the error is %v, want %v", err, wantErr)
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("the events (-want +got):\n%s", diff)
	}
}

// Whoever says what was paid must have paid the order's amount, in whatever status
// the order is.
func TestOrder_Pay_Amount(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]domain.Order{"Pending": pending, "Paid": paid, "Cancelled": cancelled, "Expired": expired} {
		for _, wrong := range []int64{-399_800, 0, 399_799, 399_801} {
			_, err := order.Pay("pay-1", new(wrong), during)
			if invalid, ok := errors.AsType[*domain.InvalidError](err); !ok || invalid.Field != "amount" {
				t.Errorf("%s: paid with %d: got %v, want that the amount is wrong", name, wrong, err)
			}
		}
	}
	events, err := pending.Pay("pay-1", nil, during)
	checkDecision(t, events, err, paymentOfOrder, nil)
}

func TestOrder_Cancel(t *testing.T) {
	t.Parallel()
	given := []domain.Event{domain.OrderCancelled{Quantity: 2}}
	for name, test := range map[string]struct {
		order domain.Order
		now   time.Time
		want  []domain.Event
		err   error
	}{
		"AtOnce":                 {pending, during, given, nil},
		"MicrosecondBeforePayBy": {pending, inTime, given, nil},
		"AtPayBy":                {pending, payBy, nil, domain.ErrOrderExpired},
		"Expired":                {expired, afterwards, nil, domain.ErrOrderExpired},
		"Again":                  {cancelled, inTime, nil, nil},
		"AgainAfterPayBy":        {cancelled, afterwards, nil, nil},
		"Paid":                   {paid, inTime, nil, domain.ErrOrderPaid},
		"Refunded":               {refunded, inTime, nil, domain.ErrOrderPaid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, err := test.order.Cancel(test.now)
			checkDecision(t, events, err, test.want, test.err)
		})
	}
}

func TestOrder_Expire(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		order domain.Order
		now   time.Time
		want  []domain.Event
	}{
		"MicrosecondBeforePayBy": {pending, inTime, nil},
		"AtPayBy":                {pending, payBy, []domain.Event{domain.OrderExpired{Quantity: 2}}},
		"LongAfter":              {pending, afterwards, []domain.Event{domain.OrderExpired{Quantity: 2}}},
		"Again":                  {expired, afterwards, nil},
		"Cancelled":              {cancelled, afterwards, nil},
		"Paid":                   {paid, afterwards, nil},
		"Refunded":               {refunded, afterwards, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkDecision(t, test.order.Expire(test.now), nil, test.want, nil)
		})
	}
}

func TestOrder_Refund(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		order     domain.Order
		reference string
		restock   bool
		want      []domain.Event
		err       error
	}{
		"Restocked":         {paid, "refund-1", true, []domain.Event{domain.OrderRefunded{Quantity: 2, Restock: true, PaymentReference: "refund-1"}}, nil},
		"NotRestocked":      {paid, "refund-1", false, []domain.Event{domain.OrderRefunded{Quantity: 2, PaymentReference: "refund-1"}}, nil},
		"ByThePayment":      {paid, "pay-1", false, []domain.Event{domain.OrderRefunded{Quantity: 2, PaymentReference: "pay-1"}}, nil},
		"Again":             {refunded, "refund-1", false, nil, nil},
		"AgainOtherRestock": {refunded, "refund-1", true, nil, nil},
		"AnotherRefund":     {refunded, "refund-2", true, nil, domain.ErrAlreadyRefunded},
		"Pending":           {pending, "refund-1", true, nil, domain.ErrOrderNotPaid},
		"Cancelled":         {cancelled, "refund-1", true, nil, domain.ErrOrderNotPaid},
		"Expired":           {expired, "refund-1", true, nil, domain.ErrOrderNotPaid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, err := test.order.Refund(test.reference, test.restock)
			checkDecision(t, events, err, test.want, test.err)
		})
	}
}

func TestFoldOrder(t *testing.T) {
	t.Parallel()
	requested := domain.PurchaseRequested{UserID: "42", Quantity: 2}
	unreadable := domain.Decode("OrderForgotten", nil)
	order, ok := domain.FoldOrder([]domain.Event{requested, confirmed(), unreadable, domain.OrderPaid{PaymentReference: "pay-1", Amount: 399_800}})
	if diff := cmp.Diff(paid, order); !ok || diff != "" {
		t.Errorf("the order (-want +got), %t:\n%s", ok, diff)
	}
	for name, events := range map[string][]domain.Event{
		"Nothing":   nil,
		"Undecided": {requested},
		"Rejected":  {requested, domain.PurchaseRejected{Reason: domain.ReasonSoldOut}},
	} {
		if order, ok := domain.FoldOrder(events); ok {
			t.Errorf("%s has the order %+v", name, order)
		}
	}
}

// What a released order gives back, to whom.
func TestReleases(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		event            domain.Event
		toSale, toBuyer  int
		endsWhatIsNamed  bool
		needsTheSaleLock bool
	}{
		"Paid":               {domain.OrderPaid{PaymentReference: "pay-1"}, 0, 0, false, false},
		"Cancelled":          {domain.OrderCancelled{Quantity: 2}, 2, 2, true, true},
		"Expired":            {domain.OrderExpired{Quantity: 2}, 2, 2, true, true},
		"RefundedToTheSale":  {domain.OrderRefunded{Quantity: 2, Restock: true}, 2, 2, true, true},
		"RefundedNotResold":  {domain.OrderRefunded{Quantity: 2}, 0, 2, true, true},
		"CannotBeRead":       {domain.Decode("OrderForgotten", nil), 0, 0, false, false},
		"CannotBeReadEither": {domain.Decode("OrderExpired", []byte(`{"quantity":"2"}`)), 0, 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sale, id := saleOf(10, 5), uuid.New()
			sale.Available = 5
			held := domain.Holding{Quantity: 3, RequestID: id, OrderID: orderID}
			sale.Apply(test.event)
			held.Apply(id, test.event)
			if got := int(sale.Available) - 5; got != test.toSale {
				t.Errorf("the sale got %d units, want %d", got, test.toSale)
			}
			if got := 3 - held.Quantity; got != test.toBuyer {
				t.Errorf("the buyer got %d units of the limit, want %d", got, test.toBuyer)
			}
			if held.Nameless() != test.endsWhatIsNamed || (held.OrderID == "") != test.endsWhatIsNamed {
				t.Errorf("the buyer holds %+v; ends what is named: want %t", held, test.endsWhatIsNamed)
			}
			if got := domain.Releases(test.event); got != test.needsTheSaleLock {
				t.Errorf("Releases is %t, want %t", got, test.needsTheSaleLock)
			}
		})
	}
}

// The release of another purchase than the one that is named leaves the name.
func TestHolding_Apply_AnotherPurchase(t *testing.T) {
	t.Parallel()
	held := domain.Holding{Quantity: 3, RequestID: uuid.New(), OrderID: orderID}
	want := domain.Holding{Quantity: 1, RequestID: held.RequestID, OrderID: orderID}
	held.Apply(uuid.New(), domain.OrderCancelled{Quantity: 2})
	if held != want {
		t.Errorf("got %+v, want %+v", held, want)
	}
}

func TestCheckPaymentReference(t *testing.T) {
	t.Parallel()
	for _, reference := range []string{"1", "wx-2026/0001 (retry)", "付款", strings.Repeat("付", 128)} {
		if err := domain.CheckPaymentReference(reference); err != nil {
			t.Errorf("%q: %v", reference, err)
		}
	}
	for _, reference := range []string{"", strings.Repeat("a", 129), "a\nb", "a\x00", "\xff"} {
		err := domain.CheckPaymentReference(reference)
		if invalid, ok := errors.AsType[*domain.InvalidError](err); !ok || invalid.Field != "paymentReference" {
			t.Errorf("%q: got %v, want that paymentReference is wrong", reference, err)
		}
	}
}
