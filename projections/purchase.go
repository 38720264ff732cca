package projections

import (
	"time"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/eventstore"
)

// Status is how far a purchase is. The values are part of the HTTP contract.
type Status string

// The statuses of a purchase.
const (
	StatusProcessing Status = "processing"
	StatusSucceeded  Status = "succeeded"
	StatusFailed     Status = "failed"
)

// Purchase is what became of one request: the fold of its stream. It is the same
// whether pushed, polled or stored.
type Purchase struct {
	RequestID         uuid.UUID
	Version           int // of the event that it shows: the request or its outcome
	SaleID            int64
	UserID            string
	Quantity          int
	Status            Status
	Reason            domain.Reason // "" unless failed
	OrderID           string        // "" unless succeeded
	ExistingRequestID uuid.UUID     // what limit_exceeded refers to, or zero
	ExistingOrderID   string
	PayBy             time.Time // zero unless succeeded
	AcceptedAt        time.Time
	DecidedAt         time.Time // zero while processing
}

// Decided reports whether the purchase has its outcome.
func (p Purchase) Decided() bool { return p.Status == StatusSucceeded || p.Status == StatusFailed }

// FoldPurchase folds the events of a purchase's stream, from the first on. It
// returns false for events that are not a purchase's. Of a request that cannot be
// read the user and quantity stay empty.
func FoldPurchase(events []eventstore.Event) (Purchase, bool) {
	if len(events) == 0 || events[0].Data.EventType() != (domain.PurchaseRequested{}).EventType() {
		return Purchase{}, false
	}
	requested, _ := events[0].Data.(domain.PurchaseRequested)
	p := Purchase{
		RequestID:  events[0].StreamID,
		Version:    1,
		SaleID:     events[0].SaleID,
		UserID:     requested.UserID,
		Quantity:   requested.Quantity,
		Status:     StatusProcessing,
		AcceptedAt: events[0].RecordedAt,
	}
	for _, event := range events[1:] {
		p.Apply(event)
	}
	return p, true
}

// Apply folds the next event of the purchase's stream. An event that was folded
// already changes nothing, nor does what becomes of the order.
func (p *Purchase) Apply(event eventstore.Event) {
	if event.Version <= p.Version {
		return
	}
	switch data := event.Data.(type) {
	case domain.PurchaseConfirmed:
		p.Status = StatusSucceeded
		p.OrderID = data.OrderID
		p.PayBy = data.PayBy
		p.DecidedAt = event.RecordedAt
	case domain.PurchaseRejected:
		p.Status = StatusFailed
		p.Reason = data.Reason
		p.ExistingRequestID = data.ExistingRequestID
		p.ExistingOrderID = data.ExistingOrderID
		p.DecidedAt = event.RecordedAt
	default:
		return
	}
	p.Version = event.Version
}
