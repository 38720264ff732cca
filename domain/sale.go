package domain

import (
	"time"
	"unicode/utf8"
)

// Bounds of what can be sold.
const (
	MaxStock        = 2_000_000_000
	MaxPerUserLimit = 1_000
	// MaxPrice is in minor units. With the largest quantity an amount stays below
	// 2^53, so that a browser reads it exactly.
	MaxPrice = 9_000_000_000_000
	// MaxNameLength is in runes.
	MaxNameLength     = 200
	MaxPaymentTimeout = 30 * 24 * time.Hour
)

// SaleStatus is what a buyer can do with a sale at a moment.
type SaleStatus string

// The statuses of a sale. The first that fits, in this order, is its status.
const (
	SaleStatusClosed    SaleStatus = "closed" // by hand or because its time is over
	SaleStatusScheduled SaleStatus = "scheduled"
	SaleStatusPaused    SaleStatus = "paused"
	SaleStatusSoldOut   SaleStatus = "sold_out"
	SaleStatusOpen      SaleStatus = "open"
)

// SaleScheduled begins the stream of a sale.
type SaleScheduled struct {
	GoodsID        int64     `json:"goodsId"`
	Name           string    `json:"name"`
	Price          int64     `json:"price"` // minor units of Currency
	Currency       string    `json:"currency"`
	Stock          int64     `json:"stock"`
	PerUserLimit   int       `json:"perUserLimit"`
	OpensAt        time.Time `json:"opensAt"`
	ClosesAt       time.Time `json:"closesAt"`
	PaymentTimeout Duration  `json:"paymentTimeout"`
}

// EventType implements Event.
func (SaleScheduled) EventType() string { return "SaleScheduled" }

// Sale is the state that decides purchases: a fold of the sale's own stream and
// of the outcomes of its purchases (which change Available).
type Sale struct {
	ID             int64
	GoodsID        int64
	Name           string
	Price          int64
	Currency       string
	Stock          int64 // all units ever added minus removed
	Available      int64 // free units
	PerUserLimit   int
	OpensAt        time.Time
	ClosesAt       time.Time
	ClosedAt       time.Time // when it was closed by hand, or zero
	Pauses         []Pause   // in order; only the last one may be going on
	PaymentTimeout time.Duration
}

// NewSale is the sale that a SaleScheduled event begins.
func NewSale(id int64, e SaleScheduled) Sale {
	return Sale{
		ID:             id,
		GoodsID:        e.GoodsID,
		Name:           e.Name,
		Price:          e.Price,
		Currency:       e.Currency,
		Stock:          e.Stock,
		Available:      e.Stock,
		PerUserLimit:   e.PerUserLimit,
		OpensAt:        e.OpensAt,
		ClosesAt:       e.ClosesAt,
		PaymentTimeout: time.Duration(e.PaymentTimeout),
	}
}

// ScheduleSale decides whether a sale of this plan may be scheduled. It returns
// a *InvalidError that names the field at fault.
func ScheduleSale(plan SaleScheduled) (SaleScheduled, error) {
	switch {
	case plan.GoodsID < 1:
		return plan, invalid("goodsId", "must be positive")
	case utf8.RuneCountInString(plan.Name) > MaxNameLength:
		return plan, invalid("name", "must have at most 200 characters")
	case !isPrintable(plan.Name):
		return plan, invalid("name", "must be valid UTF-8 without control characters")
	case !isYear(plan.OpensAt):
		return plan, invalid("opensAt", "must be in the years 1970 to 9999")
	case !isYear(plan.ClosesAt):
		return plan, invalid("closesAt", "must be in the years 1970 to 9999")
	case plan.Price < 0 || plan.Price > MaxPrice:
		return plan, invalid("price", "must be an amount in minor units, not negative and not astronomically large")
	case !isCurrency(plan.Currency):
		return plan, invalid("currency", "must be an ISO 4217 code such as CNY")
	case plan.Stock < 1 || plan.Stock > MaxStock:
		return plan, invalid("stock", "must be 1 to 2,000,000,000")
	case plan.PerUserLimit < 1 || plan.PerUserLimit > MaxPerUserLimit:
		return plan, invalid("perUserLimit", "must be 1 to 1,000")
	case !plan.ClosesAt.After(plan.OpensAt):
		return plan, invalid("closesAt", "must be after opensAt")
	case plan.PaymentTimeout < Duration(time.Second) || plan.PaymentTimeout > Duration(MaxPaymentTimeout):
		return plan, invalid("paymentTimeout", "must be 1s to 720h")
	}
	return plan, nil
}

// isYear reports whether a time is one that JSON and Postgres both can write.
func isYear(t time.Time) bool { return t.UTC().Year() >= 1970 && t.UTC().Year() <= 9999 }

func isCurrency(code string) bool {
	if len(code) != 3 {
		return false
	}
	for _, c := range code {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return true
}

// Status is the sale's status at a moment of the database's clock.
func (s Sale) Status(now time.Time) SaleStatus {
	switch {
	case s.over(now):
		return SaleStatusClosed
	case now.Before(s.OpensAt):
		return SaleStatusScheduled
	case s.paused():
		return SaleStatusPaused
	case s.Available == 0:
		return SaleStatusSoldOut
	default:
		return SaleStatusOpen
	}
}

// over reports whether the sale has ended, by hand or because its time is over.
func (s Sale) over(now time.Time) bool { return !s.ClosedAt.IsZero() || !now.Before(s.ClosesAt) }

// Refusal is the reason for which a request accepted at that moment could not
// be served by any stock, or "" if the sale was on at that moment.
func (s Sale) Refusal(acceptedAt time.Time) Reason {
	switch {
	case !acceptedAt.Before(s.ClosesAt), !s.ClosedAt.IsZero() && !acceptedAt.Before(s.ClosedAt):
		return ReasonSaleClosed
	case acceptedAt.Before(s.OpensAt):
		return ReasonSaleNotOpen
	case s.pausedAt(acceptedAt):
		return ReasonSalePaused
	default:
		return ""
	}
}

// Decide decides one purchase against the sale as it stands, given what its
// buyer holds already, the number that an order would get and the time of the
// decision. The window and the pauses are judged by when the request was accepted.
// The result is a PurchaseConfirmed or a PurchaseRejected; the caller applies it before it
// decides the next one.
func (s Sale) Decide(p Purchase, held Holding, orderID string, now time.Time) Event {
	if p.Quantity < 1 || p.Quantity > MaxPerUserLimit {
		return PurchaseRejected{Reason: ReasonInternal} // intake let something through that it never should
	}
	if reason := s.Refusal(p.AcceptedAt); reason != "" {
		return PurchaseRejected{Reason: reason}
	}
	// The limit comes before the stock: a repeated request must never cost a unit
	// that somebody else could have, and its buyer learns of the order they hold.
	if held.Quantity+p.Quantity > s.PerUserLimit {
		return PurchaseRejected{
			Reason:            ReasonLimitExceeded,
			ExistingRequestID: held.RequestID,
			ExistingOrderID:   held.OrderID,
		}
	}
	if int64(p.Quantity) > s.Available {
		return PurchaseRejected{Reason: ReasonSoldOut}
	}
	return PurchaseConfirmed{
		OrderID:  orderID,
		Quantity: p.Quantity,
		Amount:   s.Price * int64(p.Quantity),
		Currency: s.Currency,
		PayBy:    now.Add(s.PaymentTimeout).UTC(),
	}
}

// Apply folds an event of one of the sale's purchases into the sale.
func (s *Sale) Apply(outcome Event) {
	if confirmed, ok := outcome.(PurchaseConfirmed); ok {
		s.Available -= int64(confirmed.Quantity)
	}
	s.Available += int64(restocked(outcome))
}
