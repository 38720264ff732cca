package domain

import (
	"time"
	"unicode/utf8"
)

// OrderStatus is where an order stands.
type OrderStatus string

// The statuses of an order. All but the first two are its end, and a paid order
// ends only by a refund.
const (
	StatusPendingPayment OrderStatus = "pending_payment" // its units are reserved until its pay-by time
	StatusPaid           OrderStatus = "paid"
	StatusCancelled      OrderStatus = "cancelled"
	StatusExpired        OrderStatus = "expired"
	StatusRefunded       OrderStatus = "refunded"
)

// OrderPaid is a payment that came in time.
type OrderPaid struct {
	PaymentReference string `json:"paymentReference"`
	Amount           int64  `json:"amount"` // minor units of the order's currency
}

// EventType implements Event.
func (OrderPaid) EventType() string { return "OrderPaid" }

// OrderCancelled is an order that its buyer gave up before paying. Its units are
// free again.
type OrderCancelled struct {
	Quantity int `json:"quantity"`
}

// EventType implements Event.
func (OrderCancelled) EventType() string { return "OrderCancelled" }

// OrderExpired is an order that was not paid in time. Its units are free again.
type OrderExpired struct {
	Quantity int `json:"quantity"`
}

// EventType implements Event.
func (OrderExpired) EventType() string { return "OrderExpired" }

// OrderRefunded is a paid order that was paid back. With Restock its units are free
// again; without, they are gone from the sale for good.
type OrderRefunded struct {
	Quantity         int    `json:"quantity"`
	Restock          bool   `json:"restock"`
	PaymentReference string `json:"paymentReference"`
}

// EventType implements Event.
func (OrderRefunded) EventType() string { return "OrderRefunded" }

// OrderError says why a command on an order is refused. Its text is a code of the
// HTTP contract.
type OrderError string

// The refusals. None of them changes by trying again.
const (
	ErrAlreadyPaid     OrderError = "already_paid"
	ErrAlreadyRefunded OrderError = "already_refunded"
	ErrOrderCancelled  OrderError = "order_cancelled"
	ErrOrderExpired    OrderError = "order_expired"
	ErrOrderNotPaid    OrderError = "order_not_paid"
	ErrOrderPaid       OrderError = "order_paid"
	ErrPaymentTooLate  OrderError = "payment_too_late"
)

// Error implements error.
func (e OrderError) Error() string { return string(e) }

// Order is a confirmed purchase: a fold of its stream from the confirmation on.
//
// Its commands decide what follows from a command at a moment of the database's
// clock: the events to append, which are none when the same command was carried out
// before, or an OrderError.
type Order struct {
	ID              string
	Status          OrderStatus
	Quantity        int
	Amount          int64 // minor units
	PayBy           time.Time
	PaidWith        string // reference of the payment; "" unless paid
	RefundedThrough string // reference of the refund; "" unless refunded
}

// NewOrder is the order that a confirmation begins.
func NewOrder(e PurchaseConfirmed) Order {
	return Order{ID: e.OrderID, Status: StatusPendingPayment, Quantity: e.Quantity, Amount: e.Amount, PayBy: e.PayBy}
}

// FoldOrder folds the events of a purchase's stream. It returns false for a stream
// without a confirmation.
func FoldOrder(events []Event) (Order, bool) {
	var order Order
	for _, event := range events {
		if confirmed, ok := event.(PurchaseConfirmed); ok {
			order = NewOrder(confirmed)
		} else {
			order.Apply(event)
		}
	}
	return order, order.ID != ""
}

// Apply folds the next event of the order's stream.
func (o *Order) Apply(event Event) {
	switch event := event.(type) {
	case OrderPaid:
		o.Status = StatusPaid
		o.PaidWith = event.PaymentReference
	case OrderCancelled:
		o.Status = StatusCancelled
	case OrderExpired:
		o.Status = StatusExpired
	case OrderRefunded:
		o.Status = StatusRefunded
		o.RefundedThrough = event.PaymentReference
	}
}

// Held reports whether the order's units count for what its buyer holds.
func (o Order) Held() bool { return o.Status == StatusPendingPayment || o.Status == StatusPaid }

// Pay decides a payment. The pay-by time counts whether or not the order has been
// expired, so that a paid order always has its units. The amount is checked if it
// is given: a *InvalidError says that it is not the order's.
func (o Order) Pay(reference string, amount *int64, now time.Time) ([]Event, error) {
	if amount != nil && *amount != o.Amount {
		return nil, invalid("amount", "must be the amount of the order, or absent")
	}
	switch o.Status {
	case StatusPaid, StatusRefunded:
		if reference != o.PaidWith {
			return nil, ErrAlreadyPaid
		}
		return nil, nil
	case StatusCancelled:
		return nil, ErrOrderCancelled
	}
	if o.overdue(now) {
		return nil, ErrPaymentTooLate
	}
	return []Event{OrderPaid{PaymentReference: reference, Amount: o.Amount}}, nil
}

// Cancel decides that the buyer gives the order up.
func (o Order) Cancel(now time.Time) ([]Event, error) {
	switch o.Status {
	case StatusCancelled:
		return nil, nil
	case StatusPaid, StatusRefunded:
		return nil, ErrOrderPaid
	}
	if o.overdue(now) {
		return nil, ErrOrderExpired
	}
	return []Event{OrderCancelled{Quantity: o.Quantity}}, nil
}

// Expire decides whether the order has to be given up because nobody paid in time.
// Nobody asks for it, so there is nobody to refuse it to.
func (o Order) Expire(now time.Time) []Event {
	if o.Status != StatusPendingPayment || !o.overdue(now) {
		return nil
	}
	return []Event{OrderExpired{Quantity: o.Quantity}}
}

// Refund decides that a paid order is paid back, and whether its units are sold
// again.
func (o Order) Refund(reference string, restock bool) ([]Event, error) {
	switch o.Status {
	case StatusPaid:
		return []Event{OrderRefunded{Quantity: o.Quantity, Restock: restock, PaymentReference: reference}}, nil
	case StatusRefunded:
		if reference != o.RefundedThrough {
			return nil, ErrAlreadyRefunded
		}
		return nil, nil
	default:
		return nil, ErrOrderNotPaid
	}
}

func (o Order) overdue(now time.Time) bool {
	return o.Status == StatusExpired || !now.Before(o.PayBy)
}

// released is how many units an event takes from what its buyer holds.
func released(event Event) int {
	switch event := event.(type) {
	case OrderCancelled:
		return event.Quantity
	case OrderExpired:
		return event.Quantity
	case OrderRefunded:
		return event.Quantity
	default:
		return 0
	}
}

// restocked is how many units an event gives back to the sale.
func restocked(event Event) int {
	if refunded, ok := event.(OrderRefunded); ok && !refunded.Restock {
		return 0
	}
	return released(event)
}

// Releases reports whether an event ends the holding of an order's units, so that
// the sale's lock is needed to record it.
func Releases(event Event) bool { return released(event) > 0 }

// MaxPaymentReferenceLength is in runes.
const MaxPaymentReferenceLength = 128

// CheckPaymentReference returns a *InvalidError unless the reference is 1 to 128
// characters of valid UTF-8 without control characters.
func CheckPaymentReference(reference string) error {
	switch {
	case reference == "":
		return invalid("paymentReference", "must not be empty")
	case utf8.RuneCountInString(reference) > MaxPaymentReferenceLength:
		return invalid("paymentReference", "must have at most 128 characters")
	case !isPrintable(reference):
		return invalid("paymentReference", "must be valid UTF-8 without control characters")
	default:
		return nil
	}
}
