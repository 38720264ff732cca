package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/queries"
)

// ErrNotFound is returned by readers for what does not exist.
var ErrNotFound = errors.New("not found")

// Results keeps purchase_results: a row for each decided purchase, for a while.
type Results struct {
	Retention time.Duration
}

// Project implements eventstore.Projection.
func (r Results) Project(ctx context.Context, writes *queries.Pipeline, streams []*eventstore.Stream) error {
	rows := resultRows(streams)
	if len(rows.RequestIds) == 0 {
		return nil
	}
	rows.Retention = interval(r.Retention)
	return queries.New(writes).InsertPurchaseResults(ctx, rows)
}

// resultRows are the rows of those of the streams that are decided purchases: live and
// when they are rebuilt.
func resultRows(streams []*eventstore.Stream) (rows queries.InsertPurchaseResultsParams) {
	for _, stream := range streams {
		purchase, ok := FoldPurchase(stream.Events)
		if !ok || !purchase.Decided() {
			continue
		}
		rows.RequestIds = append(rows.RequestIds, purchase.RequestID)
		rows.Versions = append(rows.Versions, int32(purchase.Version))
		rows.SaleIds = append(rows.SaleIds, purchase.SaleID)
		rows.UserIds = append(rows.UserIds, purchase.UserID)
		rows.Quantities = append(rows.Quantities, int64(purchase.Quantity))
		rows.Statuses = append(rows.Statuses, string(purchase.Status))
		rows.Reasons = append(rows.Reasons, string(purchase.Reason))
		rows.OrderIds = append(rows.OrderIds, purchase.OrderID)
		rows.ExistingRequestIds = append(rows.ExistingRequestIds, purchase.ExistingRequestID)
		rows.ExistingOrderIds = append(rows.ExistingOrderIds, purchase.ExistingOrderID)
		rows.PayBys = append(rows.PayBys, orEpoch(purchase.PayBy))
		rows.AcceptedAts = append(rows.AcceptedAts, purchase.AcceptedAt)
		rows.DecidedAts = append(rows.DecidedAts, purchase.DecidedAt)
	}
	return rows
}

// orEpoch stands in for "absent" in an array of times, which has no nulls; the
// statement turns it back.
func orEpoch(t time.Time) time.Time {
	if t.IsZero() {
		return time.Unix(0, 0)
	}
	return t
}

// Purchases reads what became of requests.
type Purchases struct {
	store *eventstore.Store
}

// NewPurchases returns a reader that falls back on the streams in the store.
func NewPurchases(store *eventstore.Store) *Purchases {
	return &Purchases{store: store}
}

// Get returns a purchase, decided or not. It returns ErrNotFound for a request
// that was never accepted.
func (r *Purchases) Get(ctx context.Context, db queries.DBTX, id uuid.UUID) (Purchase, error) {
	decided, err := r.Decided(ctx, db, []uuid.UUID{id})
	if err != nil {
		return Purchase{}, err
	}
	if len(decided) == 1 {
		return decided[0], nil
	}
	events, err := r.store.ReadStream(ctx, db, id)
	if err != nil {
		return Purchase{}, err
	}
	purchase, ok := FoldPurchase(events)
	if !ok {
		return Purchase{}, ErrNotFound
	}
	return purchase, nil
}

// Decided returns those of the purchases that have a result row, in no
// particular order.
func (r *Purchases) Decided(ctx context.Context, db queries.DBTX, ids []uuid.UUID) ([]Purchase, error) {
	rows, err := queries.New(db).GetPurchaseResults(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read purchase results: %w", err)
	}
	purchases := make([]Purchase, len(rows))
	for i, row := range rows {
		purchases[i] = Purchase{
			RequestID:         row.RequestID,
			Version:           int(row.Version),
			SaleID:            row.SaleID,
			UserID:            row.UserID,
			Quantity:          int(row.Quantity),
			Status:            Status(row.Status),
			Reason:            domain.Reason(orZero(row.Reason)),
			OrderID:           orZero(row.OrderID),
			ExistingRequestID: orZero(row.ExistingRequestID),
			ExistingOrderID:   orZero(row.ExistingOrderID),
			PayBy:             orZero(row.PayBy),
			AcceptedAt:        row.AcceptedAt,
			DecidedAt:         row.DecidedAt,
		}
	}
	return purchases, nil
}

func orZero[T any](value *T) T {
	if value == nil {
		var zero T
		return zero
	}
	return *value
}
