package domain

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Reason says why a purchase failed. The values are part of the HTTP contract.
type Reason string

// The reasons for which a purchase fails.
const (
	ReasonInternal      Reason = "internal"
	ReasonLimitExceeded Reason = "limit_exceeded"
	ReasonSaleClosed    Reason = "sale_closed"
	ReasonSaleNotOpen   Reason = "sale_not_open"
	ReasonSalePaused    Reason = "sale_paused"
	ReasonSoldOut       Reason = "sold_out"
)

// PurchaseRequested begins the stream of a purchase: it was accepted and will
// be decided.
type PurchaseRequested struct {
	UserID   string `json:"userId"`
	Quantity int    `json:"quantity"`
}

// EventType implements Event.
func (PurchaseRequested) EventType() string { return "PurchaseRequested" }

// PurchaseConfirmed is a won purchase: its units are reserved until PayBy.
type PurchaseConfirmed struct {
	OrderID  string    `json:"orderId"`
	Quantity int       `json:"quantity"`
	Amount   int64     `json:"amount"` // price × quantity in minor units
	Currency string    `json:"currency"`
	PayBy    time.Time `json:"payBy"`
}

// EventType implements Event.
func (PurchaseConfirmed) EventType() string { return "PurchaseConfirmed" }

// PurchaseRejected is a lost purchase. With limit_exceeded it names the request
// and the order that the buyer has already, if any.
type PurchaseRejected struct {
	Reason            Reason    `json:"reason"`
	ExistingRequestID uuid.UUID `json:"existingRequestId,omitzero"`
	ExistingOrderID   string    `json:"existingOrderId,omitempty"`
}

// EventType implements Event.
func (PurchaseRejected) EventType() string { return "PurchaseRejected" }

// Purchase is an accepted request that waits for its decision.
type Purchase struct {
	RequestID  uuid.UUID
	UserID     string
	Quantity   int
	AcceptedAt time.Time // the database's clock
}

// Holding is what one buyer holds of one sale.
type Holding struct {
	Quantity int
	// The purchase that was confirmed last of those that are still held; zero if there
	// is none, or if it was released and another one has yet to be named.
	RequestID uuid.UUID
	OrderID   string
}

// Apply folds an event of the buyer's purchase into the holding.
func (h *Holding) Apply(requestID uuid.UUID, event Event) {
	if confirmed, ok := event.(PurchaseConfirmed); ok {
		h.Quantity += confirmed.Quantity
		h.RequestID = requestID
		h.OrderID = confirmed.OrderID
	}
	if units := released(event); units > 0 {
		h.Quantity -= units
		if h.RequestID == requestID {
			h.RequestID = uuid.Nil
			h.OrderID = ""
		}
	}
}

// Nameless reports whether units are held, but it is open of which order.
func (h Holding) Nameless() bool { return h.Quantity > 0 && h.RequestID == uuid.Nil }

// MaxUserIDLength is in runes.
const MaxUserIDLength = 64

// CheckUserID returns a *InvalidError unless id names a buyer: 1 to 64
// characters of valid UTF-8 without control characters.
func CheckUserID(id string) error {
	if id == "" {
		return invalid("userId", "must not be empty")
	}
	if utf8.RuneCountInString(id) > MaxUserIDLength {
		return invalid("userId", "must have at most 64 characters")
	}
	if !isPrintable(id) {
		return invalid("userId", "must be valid UTF-8 without control characters")
	}
	return nil
}

func isPrintable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}
