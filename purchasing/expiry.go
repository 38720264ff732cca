package purchasing

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/eventstore"
	"seckill/queries"
)

const (
	// expiryBeat is how often a node looks for overdue orders.
	expiryBeat = 250 * time.Millisecond
	// expiryBatch is how many orders of a sale are expired by one transaction: it
	// bounds how long the sale is locked, and how many locks are taken.
	expiryBatch = 500
	// expiryLook is from how many overdue orders the sales are taken that come first.
	expiryLook = 10_000
	// expiryPatience is how long, at most, an order is left alone that did not expire.
	expiryPatience = time.Minute
)

// Expiry gives up the orders that nobody paid in time, on every node. Its promise is
// to the stock, not to the payer: whether a payment is in time is judged by the clock,
// however late the expiry is.
//
// It takes the locks of purchases only where they are free, and before that of the
// sale. So nodes share the work without waiting for each other's orders, and whoever
// keeps a purchase locked delays nothing but that.
type Expiry struct {
	logger *slog.Logger
	pool   *pgxpool.Pool
	store  *eventstore.Store

	leftOut      []uuid.UUID // purchases that looked overdue and did not expire; never nil
	leftOutUntil time.Time
}

// NewExpiry returns an expiry that works over one connection of the pool.
func NewExpiry(pool *pgxpool.Pool, store *eventstore.Store, logger *slog.Logger) *Expiry {
	return &Expiry{leftOut: []uuid.UUID{}, logger: logger, pool: pool, store: store}
}

// Run expires orders until the context ends.
func (e *Expiry) Run(ctx context.Context) {
	tick := time.NewTicker(expiryBeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := e.beat(ctx); err != nil && ctx.Err() == nil {
				e.logger.Warn("could not expire orders; the next beat tries again", "error", err)
			}
		}
	}
}

// beat expires what is overdue. A sale that fails does not keep the others waiting.
func (e *Expiry) beat(ctx context.Context) error {
	if time.Now().After(e.leftOutUntil) {
		e.leftOut = e.leftOut[:0]
		e.leftOutUntil = time.Now().Add(expiryPatience)
	}
	sales, err := e.overdueSales(ctx)
	if err != nil {
		return err
	}
	for _, sale := range sales {
		for {
			batch, err := e.expire(ctx, sale, expiryBatch)
			if err != nil && isDeterministic(err) {
				err = e.expireApart(ctx, sale, len(batch))
			}
			if err != nil && ctx.Err() == nil {
				e.logger.Warn("could not expire orders of a sale", "sale", sale, "error", err)
			}
			if err != nil || len(batch) < expiryBatch {
				break
			}
		}
	}
	return nil
}

func (e *Expiry) overdueSales(ctx context.Context) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	sales, err := queries.New(e.pool).GetOverdueSales(ctx, expiryLook)
	if err != nil {
		return nil, fmt.Errorf("look for overdue orders: %w", err)
	}
	return sales, nil
}

// expireApart expires the orders of a batch that cannot be expired together one by
// one, and leaves out for a while those that cannot be expired alone.
func (e *Expiry) expireApart(ctx context.Context, saleID int64, count int) error {
	for range count {
		batch, err := e.expire(ctx, saleID, 1)
		switch {
		case err != nil && isDeterministic(err):
			e.logger.Error("an order cannot be expired", "sale", saleID, "request", batch[0], "error", err)
			e.leftOut = append(e.leftOut, batch[0])
		case err != nil:
			return err
		case len(batch) == 0:
			return nil
		}
	}
	return nil
}

// expire expires up to limit overdue orders of a sale by one transaction. It returns
// the purchases that it has locked for that, also if it fails.
func (e *Expiry) expire(ctx context.Context, saleID int64, limit int) (batch []uuid.UUID, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchTimeout)
	defer cancel()
	tx, err := e.pool.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	defer rollback(ctx, tx)

	q := queries.New(tx)
	batch, err = q.LockOverduePurchases(ctx, queries.LockOverduePurchasesParams{
		LockClass: purchaseLockClass, SaleID: saleID, But: e.leftOut, MaxOrders: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("lock overdue purchases of sale %d: %w", saleID, err)
	}
	if len(batch) == 0 {
		return nil, nil
	}
	sale, err := lockSale(ctx, q, saleID)
	if err != nil {
		return batch, err
	}
	streams, err := readStreams(ctx, tx, e.store, batch)
	if err != nil {
		return batch, err
	}
	now, err := q.Now(ctx)
	if err != nil {
		return batch, fmt.Errorf("read the clock: %w", err)
	}
	expired := make([]*eventstore.Stream, 0, len(batch))
	for _, id := range batch {
		if stream, ok := expireStream(streams[id], now); ok {
			expired = append(expired, stream)
		} else {
			e.leftOut = append(e.leftOut, id) // just paid or cancelled, or its row is wrong
		}
	}
	if len(expired) == 0 {
		return batch, nil
	}
	var writes queries.Pipeline
	if err := appendReleases(ctx, tx, &writes, e.store, sale, expired); err != nil {
		return batch, err
	}
	return batch, commit(ctx, tx, &writes)
}

// expireStream records in a purchase's stream that its order has expired, if so.
func expireStream(events []eventstore.Event, now time.Time) (*eventstore.Stream, bool) {
	stream, order, ok := orderIn(events)
	if !ok {
		return nil, false
	}
	for _, event := range order.Expire(now) {
		stream.Record(event, nil)
	}
	return stream, stream.Version() > len(events)
}
