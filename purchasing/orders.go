package purchasing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/queries"
)

// ErrOrderNotFound is returned for an order that does not exist, or that is not the
// caller's.
var ErrOrderNotFound = errors.New("there is no such order")

// Orders carries out the commands on orders. Each takes the lock of the purchase,
// and only if units are released that of the sale too, and decides by the stream and
// the database's clock as they are then. Whoever does not know what became of a
// command may send it again.
//
// Besides the errors named below the commands return domain.OrderError for what the
// order's state refuses, and ErrOrderNotFound.
type Orders struct {
	pool      *pgxpool.Pool
	releasing chan struct{} // of maxReleasing
	store     *eventstore.Store
}

// maxReleasing is how many commands at a time may wait for a sale: fewer than the pool
// has connections, so that a sale that is kept locked does not stop the payments.
const maxReleasing = 4

// NewOrders returns a command side for orders.
func NewOrders(pool *pgxpool.Pool, store *eventstore.Store) *Orders {
	return &Orders{pool: pool, releasing: make(chan struct{}, maxReleasing), store: store}
}

// Pay records a payment. The amount, in minor units, is checked if it is given. It
// returns a *domain.InvalidError for a reference or an amount that cannot be right.
func (o *Orders) Pay(ctx context.Context, orderID, reference string, amount *int64, metadata []byte) error {
	if err := domain.CheckPaymentReference(reference); err != nil {
		return err
	}
	purchase, err := o.find(ctx, orderID)
	if err != nil {
		return err
	}
	return o.change(ctx, purchase, metadata, func(order domain.Order, now time.Time) ([]domain.Event, error) {
		return order.Pay(reference, amount, now)
	})
}

// Cancel gives an order up for its buyer, before it is paid.
func (o *Orders) Cancel(ctx context.Context, orderID, userID string, metadata []byte) error {
	purchase, err := o.find(ctx, orderID)
	if err != nil {
		return err
	}
	if purchase.UserID != userID {
		return ErrOrderNotFound
	}
	return o.release(ctx, purchase, metadata, domain.Order.Cancel)
}

// Refund records that a paid order was paid back; with restock its units are sold
// again. It returns a *domain.InvalidError for a reference that cannot be right.
func (o *Orders) Refund(ctx context.Context, orderID, reference string, restock bool, metadata []byte) error {
	if err := domain.CheckPaymentReference(reference); err != nil {
		return err
	}
	purchase, err := o.find(ctx, orderID)
	if err != nil {
		return err
	}
	return o.release(ctx, purchase, metadata, func(order domain.Order, _ time.Time) ([]domain.Event, error) {
		return order.Refund(reference, restock)
	})
}

func (o *Orders) find(ctx context.Context, orderID string) (queries.GetPurchaseOfOrderRow, error) {
	purchase, err := queries.New(o.pool).GetPurchaseOfOrder(ctx, orderID)
	if errors.Is(err, pgx.ErrNoRows) {
		return purchase, ErrOrderNotFound
	}
	if err != nil {
		return purchase, fmt.Errorf("find order %s: %w", orderID, err)
	}
	return purchase, nil
}

// decision decides a command on an order at a moment of the database's clock.
type decision func(order domain.Order, now time.Time) ([]domain.Event, error)

// release is change for a command that may release units.
func (o *Orders) release(ctx context.Context, purchase queries.GetPurchaseOfOrderRow, metadata []byte, decide decision) error {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	select {
	case o.releasing <- struct{}{}:
		defer func() { <-o.releasing }()
		return o.change(ctx, purchase, metadata, decide)
	case <-ctx.Done():
		return fmt.Errorf("wait to release the units of purchase %s: %w", purchase.RequestID, ctx.Err())
	}
}

// change decides under the purchase's lock, and records what follows.
func (o *Orders) change(ctx context.Context, purchase queries.GetPurchaseOfOrderRow, metadata []byte, decide decision) error {
	// A caller who leaves must not cut a connection that holds locks; the transaction
	// has a time-out of its own.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchTimeout)
	defer cancel()
	tx, err := o.pool.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer rollback(ctx, tx)

	q := queries.New(tx)
	err = q.LockPurchase(ctx, queries.LockPurchaseParams{LockClass: purchaseLockClass, RequestID: purchase.RequestID})
	if err != nil {
		return fmt.Errorf("lock purchase %s: %w", purchase.RequestID, err)
	}
	streams, err := readStreams(ctx, tx, o.store, []uuid.UUID{purchase.RequestID})
	if err != nil {
		return err
	}
	stream, order, ok := orderIn(streams[purchase.RequestID])
	if !ok {
		return ErrOrderNotFound
	}
	events, err := decideNow(ctx, q, order, decide)
	if err != nil || len(events) == 0 {
		return err
	}
	if !domain.Releases(events[0]) {
		stream.Record(events[0], metadata)
		var writes queries.Pipeline
		if _, err := o.store.Append(ctx, tx, &writes, stream); err != nil {
			return err
		}
		return commit(ctx, tx, &writes)
	}

	sale, err := lockSale(ctx, q, purchase.SaleID)
	if err != nil {
		return err
	}
	// Waiting for the sale took its time: what counts is the clock under the locks.
	events, err = decideNow(ctx, q, order, decide)
	if err != nil || len(events) == 0 {
		return err
	}
	stream.Record(events[0], metadata)
	var writes queries.Pipeline
	if err := appendReleases(ctx, tx, &writes, o.store, sale, []*eventstore.Stream{stream}); err != nil {
		return err
	}
	return commit(ctx, tx, &writes)
}

func decideNow(ctx context.Context, q *queries.Queries, order domain.Order, decide decision) ([]domain.Event, error) {
	now, err := q.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the clock: %w", err)
	}
	return decide(order, now)
}

func commit(ctx context.Context, tx pgx.Tx, writes *queries.Pipeline) error {
	if err := writes.Send(ctx, tx); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// lockSale locks a sale and returns it as it stands. Nothing may have been written
// in the transaction: its ID has to follow the lock.
func lockSale(ctx context.Context, q *queries.Queries, saleID int64) (domain.Sale, error) {
	if err := q.QueueForSale(ctx, queries.QueueForSaleParams{LockClass: saleLockClass, SaleID: saleID}); err != nil {
		return domain.Sale{}, fmt.Errorf("queue for sale %d: %w", saleID, err)
	}
	row, err := q.LockSale(ctx, saleID)
	if err != nil {
		return domain.Sale{}, fmt.Errorf("lock sale %d: %w", saleID, err)
	}
	return row.Domain(), nil
}

// readStreams reads purchases by their request IDs.
func readStreams(ctx context.Context, db queries.DBTX, store *eventstore.Store, ids []uuid.UUID) (map[uuid.UUID][]eventstore.Event, error) {
	events, err := store.ReadStreams(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	streams := make(map[uuid.UUID][]eventstore.Event, len(ids))
	for _, event := range events {
		streams[event.StreamID] = append(streams[event.StreamID], event)
	}
	return streams, nil
}

// orderIn folds the order of a purchase; false if it has none.
func orderIn(events []eventstore.Event) (*eventstore.Stream, domain.Order, bool) {
	data := make([]domain.Event, len(events))
	for i, event := range events {
		data[i] = event.Data
	}
	order, ok := domain.FoldOrder(data)
	if !ok {
		return nil, domain.Order{}, false
	}
	return eventstore.LoadedStream(events), order, true
}
