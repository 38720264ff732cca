package projections

import (
	"context"
	"fmt"
	"math"

	"github.com/google/uuid"

	"seckill/eventstore"
	"seckill/queries"
)

// RequestsCursor is a place in a list of requests: after that one. The zero cursor is
// the beginning.
type RequestsCursor struct {
	TransactionID int64 `json:"t"`
	Position      int64 `json:"p"`
}

// ListPurchases returns up to limit purchases that a user requested of a sale, newest
// first, decided or not, and the cursor for the next ones, which is zero at the end.
// It reads the streams, so it misses none, however old.
func (r *Purchases) ListPurchases(ctx context.Context, db queries.DBTX, saleID int64, userID string, after RequestsCursor, limit int) ([]Purchase, RequestsCursor, error) {
	if after == (RequestsCursor{}) {
		after.TransactionID = math.MaxInt64
	}
	rows, err := queries.New(db).ListRequests(ctx, queries.ListRequestsParams{
		SaleID:              saleID,
		UserID:              userID,
		BeforeTransactionID: after.TransactionID,
		BeforePosition:      after.Position,
		MaxRequests:         int32(limit + 1),
	})
	if err != nil {
		return nil, RequestsCursor{}, fmt.Errorf("list requests: %w", err)
	}
	var next RequestsCursor
	if len(rows) > limit {
		rows = rows[:limit]
		next = RequestsCursor{TransactionID: rows[limit-1].TransactionID, Position: rows[limit-1].Position}
	}
	ids := make([]uuid.UUID, len(rows))
	for i, row := range rows {
		ids[i] = row.StreamID
	}
	events, err := r.store.ReadStreams(ctx, db, ids)
	if err != nil {
		return nil, RequestsCursor{}, err
	}
	streams := make(map[uuid.UUID][]eventstore.Event, len(ids))
	for _, event := range events {
		streams[event.StreamID] = append(streams[event.StreamID], event)
	}
	purchases := make([]Purchase, 0, len(ids))
	for _, id := range ids {
		if purchase, ok := FoldPurchase(streams[id]); ok {
			purchases = append(purchases, purchase)
		}
	}
	return purchases, next, nil
}

// History returns the events of a request, oldest first. It returns ErrNotFound for
// a request that was never accepted.
func (r *Purchases) History(ctx context.Context, db queries.DBTX, id uuid.UUID) ([]eventstore.Event, error) {
	events, err := r.store.ReadStream(ctx, db, id)
	if err != nil {
		return nil, err
	}
	if _, ok := FoldPurchase(events); !ok {
		return nil, ErrNotFound
	}
	return events, nil
}
