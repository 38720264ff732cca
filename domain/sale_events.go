package domain

import (
	"slices"
	"time"
)

// SalePaused begins a pause: what is accepted from the moment on at which it was
// recorded is refused, until the sale is resumed.
type SalePaused struct{}

// SaleResumed ends a pause.
type SaleResumed struct{}

// SaleClosed ends the sale before its time, for good: what is accepted from the
// moment on at which it was recorded is refused.
type SaleClosed struct{}

// StockAdded is units that came to the stock.
type StockAdded struct {
	Quantity int64 `json:"quantity"`
}

// StockRemoved is units that were taken from the stock while they were free.
type StockRemoved struct {
	Quantity int64 `json:"quantity"`
}

// SaleRescheduled is the sale's window from then on.
type SaleRescheduled struct {
	OpensAt  time.Time `json:"opensAt"`
	ClosesAt time.Time `json:"closesAt"`
}

// EventType implements Event.
func (SalePaused) EventType() string { return "SalePaused" }

// EventType implements Event.
func (SaleResumed) EventType() string { return "SaleResumed" }

// EventType implements Event.
func (SaleClosed) EventType() string { return "SaleClosed" }

// EventType implements Event.
func (StockAdded) EventType() string { return "StockAdded" }

// EventType implements Event.
func (StockRemoved) EventType() string { return "StockRemoved" }

// EventType implements Event.
func (SaleRescheduled) EventType() string { return "SaleRescheduled" }

// ApplyChange folds an event of the sale's own stream, after its SaleScheduled,
// into the sale. recordedAt is when the event was recorded, by the database's
// clock: the moment from which on it counts.
func (s *Sale) ApplyChange(change Event, recordedAt time.Time) {
	switch change := change.(type) {
	case SalePaused:
		s.Pauses = append(slices.Clip(s.Pauses), Pause{From: recordedAt}) // a copy of the sale keeps its own
	case SaleResumed:
		if s.paused() {
			s.Pauses = slices.Clone(s.Pauses)
			s.Pauses[len(s.Pauses)-1].Until = recordedAt
		}
	case SaleClosed:
		s.ClosedAt = recordedAt
	case StockAdded:
		s.Stock += change.Quantity
		s.Available += change.Quantity
	case StockRemoved:
		s.Stock -= change.Quantity
		s.Available -= change.Quantity
	case SaleRescheduled:
		s.OpensAt, s.ClosesAt = change.OpensAt, change.ClosesAt
	}
}
