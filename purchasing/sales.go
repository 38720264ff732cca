package purchasing

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/queries"
)

// saleNamespace makes stream IDs of sale IDs (UUIDv5).
var saleNamespace = uuid.MustParse("5ec21115-a1e5-4000-8000-5eed00000001")

// SaleStreamID is the ID of a sale's stream.
func SaleStreamID(saleID int64) uuid.UUID {
	var name [8]byte
	binary.BigEndian.PutUint64(name[:], uint64(saleID))
	return uuid.NewSHA1(saleNamespace, name[:])
}

// Sales carries out the commands on sales.
type Sales struct {
	pool  *pgxpool.Pool
	store *eventstore.Store
	turns chan struct{} // of those that wait for the lock of a sale
}

// NewSales returns a command side for sales.
func NewSales(pool *pgxpool.Pool, store *eventstore.Store) *Sales {
	return &Sales{pool: pool, store: store, turns: make(chan struct{}, saleCommandsAtOnce)}
}

// Schedule schedules a sale and returns its ID. Times are kept to the
// microsecond; a plan without an opening time opens now, by the database's clock,
// and a plan without goods sells the goods of the sale's own number. It returns a
// *domain.InvalidError for a plan that cannot be carried out.
func (s *Sales) Schedule(ctx context.Context, plan domain.SaleScheduled, metadata []byte) (int64, error) {
	var id int64
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var err error
		id, err = s.schedule(ctx, tx, plan, metadata)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("schedule a sale: %w", err)
	}
	return id, nil
}

func (s *Sales) schedule(ctx context.Context, tx pgx.Tx, plan domain.SaleScheduled, metadata []byte) (int64, error) {
	q := queries.New(tx)
	next, err := q.NextSaleID(ctx)
	if err != nil {
		return 0, err
	}
	if plan.GoodsID == 0 {
		plan.GoodsID = next.SaleID
	}
	if plan.OpensAt.IsZero() {
		plan.OpensAt = next.Now
	}
	plan.OpensAt = plan.OpensAt.Truncate(time.Microsecond).UTC()
	plan.ClosesAt = plan.ClosesAt.Truncate(time.Microsecond).UTC()
	scheduled, err := domain.ScheduleSale(plan)
	if err != nil {
		return 0, err
	}

	stream := eventstore.NewStream(SaleStreamID(next.SaleID), next.SaleID)
	stream.Record(scheduled, metadata)
	var writes queries.Pipeline
	if _, err := s.store.Append(ctx, tx, &writes, stream); err != nil {
		return 0, err
	}
	err = queries.New(&writes).InsertSale(ctx, queries.InsertSaleParams{
		SaleID:           next.SaleID,
		GoodsID:          scheduled.GoodsID,
		Name:             scheduled.Name,
		Price:            scheduled.Price,
		Currency:         scheduled.Currency,
		Stock:            scheduled.Stock,
		PerUserLimit:     int32(scheduled.PerUserLimit),
		OpensAt:          scheduled.OpensAt,
		ClosesAt:         scheduled.ClosesAt,
		PaymentTimeoutUs: time.Duration(scheduled.PaymentTimeout).Microseconds(),
	})
	if err != nil {
		return 0, err
	}
	return next.SaleID, writes.Send(ctx, tx)
}
