package domain

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrSaleClosed is returned for a command on a sale that is closed or over.
	ErrSaleClosed = errors.New("the sale is closed")
	// ErrSaleAlreadyOpen is returned when the opening of a sale is to be moved that
	// has opened.
	ErrSaleAlreadyOpen = errors.New("the sale has opened already")
)

// StockNotAvailableError says that more units are to be removed than are free.
type StockNotAvailableError struct{ Available int64 }

// Error implements error.
func (e *StockNotAvailableError) Error() string {
	return fmt.Sprintf("only %d units are free", e.Available)
}

// The commands on a sale decide at a moment of the database's clock. They return
// the event that carries the command out, or nil when it finds the sale as it is
// to be.

// Pause stops the sale for the time being. It returns ErrSaleClosed for a sale
// that is closed.
func (s Sale) Pause(now time.Time) (Event, error) {
	switch {
	case s.over(now):
		return nil, ErrSaleClosed
	case s.paused():
		return nil, nil
	}
	return SalePaused{}, nil
}

// Resume ends a pause. It returns ErrSaleClosed for a sale that is closed.
func (s Sale) Resume(now time.Time) (Event, error) {
	switch {
	case s.over(now):
		return nil, ErrSaleClosed
	case !s.paused():
		return nil, nil
	}
	return SaleResumed{}, nil
}

// Close ends the sale for good.
func (s Sale) Close(now time.Time) (Event, error) {
	if s.over(now) {
		return nil, nil
	}
	return SaleClosed{}, nil
}

// ChangeStock adds units, or removes free ones when delta is negative. It returns
// ErrSaleClosed for a sale that is closed, a *StockNotAvailableError when fewer
// are free, and a *InvalidError for a delta of 0 or a stock beyond MaxStock.
func (s Sale) ChangeStock(delta int64, now time.Time) (Event, error) {
	switch {
	case delta == 0:
		return nil, invalid("delta", "must not be 0")
	case s.over(now):
		return nil, ErrSaleClosed
	case delta > MaxStock-s.Stock:
		return nil, invalid("delta", fmt.Sprintf("must be at most %d: a stock has at most 2,000,000,000 units", MaxStock-s.Stock))
	case delta < -s.Available:
		return nil, &StockNotAvailableError{Available: s.Available}
	case delta > 0:
		return StockAdded{Quantity: delta}, nil
	}
	return StockRemoved{Quantity: -delta}, nil
}

// Reschedule moves the sale's window; nil leaves its end of it as it is, and an
// opening that has passed means now. Times are kept to the microsecond. It
// returns ErrSaleClosed for a sale that is closed, ErrSaleAlreadyOpen when the
// opening of a sale that has opened is to be moved, and a *InvalidError for a
// window that ends before it begins or has ended already.
//
// So no request that was decided before is judged otherwise by the new window.
func (s Sale) Reschedule(opensAt, closesAt *time.Time, now time.Time) (Event, error) {
	moved := SaleRescheduled{OpensAt: s.OpensAt.UTC(), ClosesAt: s.ClosesAt.UTC()}
	if opensAt != nil {
		moved.OpensAt = opensAt.Truncate(time.Microsecond).UTC()
	}
	if closesAt != nil {
		moved.ClosesAt = closesAt.Truncate(time.Microsecond).UTC()
	}
	opensElsewhen := !moved.OpensAt.Equal(s.OpensAt)
	switch {
	case !isYear(moved.OpensAt):
		return nil, invalid("opensAt", "must be in the years 1970 to 9999")
	case !isYear(moved.ClosesAt):
		return nil, invalid("closesAt", "must be in the years 1970 to 9999")
	case s.over(now):
		return nil, ErrSaleClosed
	case opensElsewhen && !now.Before(s.OpensAt):
		return nil, ErrSaleAlreadyOpen
	case opensElsewhen && moved.OpensAt.Before(now):
		moved.OpensAt = now.UTC()
	}
	switch {
	case !moved.ClosesAt.After(now):
		return nil, invalid("closesAt", "must be in the future")
	case !moved.ClosesAt.After(moved.OpensAt) && closesAt == nil:
		return nil, invalid("opensAt", "must be before closesAt")
	case !moved.ClosesAt.After(moved.OpensAt):
		return nil, invalid("closesAt", "must be after opensAt")
	case !opensElsewhen && moved.ClosesAt.Equal(s.ClosesAt):
		return nil, nil
	}
	return moved, nil
}
