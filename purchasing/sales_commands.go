package purchasing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/queries"
)

const (
	// saleCommandsAtOnce is how many commands of a node may wait for sales: they
	// share the connections of the intake, which must always have some left.
	saleCommandsAtOnce = 2
	// saleCommandTimeout bounds one command.
	saleCommandTimeout = 4 * time.Second
)

// The commands below change a sale. They return ErrSaleNotFound for a sale that
// does not exist, and otherwise what the domain's command of that name returns.
// Any other error leaves it open whether the command was carried out. Metadata is
// a JSON object that is kept with the event, or nil.

// Pause stops a sale for the time being: requests accepted from the moment on at
// which it is recorded are refused.
func (s *Sales) Pause(ctx context.Context, saleID int64, metadata []byte) error {
	return s.command(ctx, "pause", saleID, metadata, domain.Sale.Pause)
}

// Resume ends a pause.
func (s *Sales) Resume(ctx context.Context, saleID int64, metadata []byte) error {
	return s.command(ctx, "resume", saleID, metadata, domain.Sale.Resume)
}

// Close ends a sale for good: requests accepted from the moment on at which it is
// recorded are refused.
func (s *Sales) Close(ctx context.Context, saleID int64, metadata []byte) error {
	return s.command(ctx, "close", saleID, metadata, domain.Sale.Close)
}

// ChangeStock adds units to a sale, or removes free ones when delta is negative.
func (s *Sales) ChangeStock(ctx context.Context, saleID, delta int64, metadata []byte) error {
	return s.command(ctx, "change the stock of", saleID, metadata, func(sale domain.Sale, now time.Time) (domain.Event, error) {
		return sale.ChangeStock(delta, now)
	})
}

// Reschedule moves a sale's window; nil leaves its end of it as it is.
func (s *Sales) Reschedule(ctx context.Context, saleID int64, opensAt, closesAt *time.Time, metadata []byte) error {
	return s.command(ctx, "reschedule", saleID, metadata, func(sale domain.Sale, now time.Time) (domain.Event, error) {
		return sale.Reschedule(opensAt, closesAt, now)
	})
}

// saleDecision lets the domain decide a command on a sale at a moment.
type saleDecision func(sale domain.Sale, now time.Time) (domain.Event, error)

// command carries out one command on a sale in one transaction.
func (s *Sales) command(ctx context.Context, verb string, saleID int64, metadata []byte, decide saleDecision) error {
	ctx, cancel := context.WithTimeout(ctx, saleCommandTimeout)
	defer cancel()
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
		return ctx.Err()
	}
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return s.change(ctx, tx, saleID, metadata, decide) })
	if err != nil {
		return fmt.Errorf("%s sale %d: %w", verb, saleID, err)
	}
	return nil
}

// change locks the sale, decides by the database's clock under the lock, and writes
// the event and what it makes of the sale's row. What counts from the event on does
// so from the moment at which it was recorded, in the row as in the history.
func (s *Sales) change(ctx context.Context, tx pgx.Tx, saleID int64, metadata []byte, decide saleDecision) error {
	q := queries.New(tx)
	if err := q.QueueForSale(ctx, queries.QueueForSaleParams{LockClass: saleLockClass, SaleID: saleID}); err != nil {
		return err
	}
	if _, err := q.LockSale(ctx, saleID); errors.Is(err, pgx.ErrNoRows) {
		return ErrSaleNotFound
	} else if err != nil {
		return err
	}
	row, err := q.GetSale(ctx, saleID) // again, for the clock under the lock
	if err != nil {
		return err
	}
	sale := row.Sale.Domain()
	change, err := decide(sale, row.ServerTime)
	if err != nil || change == nil {
		return err
	}
	history, err := s.store.ReadStream(ctx, tx, SaleStreamID(saleID))
	if err != nil {
		return err
	}
	stream := eventstore.LoadedStream(history)
	stream.Record(change, metadata)
	var writes queries.Pipeline
	appended, err := s.store.Append(ctx, tx, &writes, stream)
	if err != nil {
		return err
	}
	sale.ApplyChange(change, appended.RecordedAt)
	if err := queries.New(&writes).UpdateSale(ctx, queries.SaleUpdate(sale)); err != nil {
		return err
	}
	return writes.Send(ctx, tx)
}
