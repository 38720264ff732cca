package purchasing

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"seckill/domain"
	"seckill/eventstore"
)

const (
	// flushTimeout bounds one attempt, and flushFor all attempts together.
	flushTimeout = 2 * time.Second
	flushFor     = 4 * time.Second
	flushPause   = 200 * time.Millisecond
)

// flush takes a batch in, and answers every one of its callers.
//
// When an attempt fails, it may have been committed all the same: the answer to
// COMMIT can be lost. The next attempt uses the same request IDs and leaves alone
// what is there already, so it either finds the batch or takes it in; should the
// first transaction still be committing, the primary key makes the second wait.
func (i *Intake) flush(batch []*pending) {
	ctx, cancel := context.WithTimeout(context.Background(), flushFor)
	defer cancel()
	err := i.take(ctx, batch)
	for pause := flushPause; err != nil && !isDeterministic(err) && ctx.Err() == nil; pause *= 2 {
		i.Logger.Warn("could not take purchases in", "count", len(batch), "error", err)
		select {
		case <-time.After(pause):
			err = i.take(ctx, batch)
		case <-ctx.Done():
		}
	}
	if err == nil {
		return
	}
	if isDeterministic(err) && len(batch) > 1 {
		// One request that the database cannot take must not keep out its neighbours.
		half := len(batch) / 2
		i.flush(batch[:half])
		i.flush(batch[half:])
		return
	}
	if isDeterministic(err) {
		i.Logger.Error("the database cannot take a purchase", "sale", batch[0].SaleID, "error", err)
	}
	for _, p := range batch {
		p.done <- outcome{err: &UnavailableError{RequestID: p.id, Err: err}}
	}
}

// take takes a batch in by one transaction: the idempotency keys, the events and
// one job for each sale. After the commit it answers the callers.
func (i *Intake) take(ctx context.Context, batch []*pending) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	begun := time.Now()
	tx, err := i.Pool.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer rollback(ctx, tx)

	fresh, replays, err := claimKeys(ctx, tx, batch)
	if err != nil {
		return err
	}
	acceptedAt, err := i.append(ctx, tx, fresh)
	if err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	i.Metrics.tookIn(fresh, begun)
	for _, p := range fresh {
		i.Backlog.accepted(p.SaleID, 1)
		p.done <- outcome{accepted: Accepted{RequestID: p.id, AcceptedAt: acceptedAt[p.id]}}
	}
	for _, r := range replays {
		r.pending.done <- r.outcome
	}
	return nil
}

// append appends the requests that are not there yet, with their jobs, and
// returns when each was accepted.
func (i *Intake) append(ctx context.Context, tx pgx.Tx, batch []*pending) (map[uuid.UUID]time.Time, error) {
	acceptedAt := make(map[uuid.UUID]time.Time, len(batch))
	if len(batch) == 0 {
		return acceptedAt, nil
	}
	streams := make([]*eventstore.Stream, len(batch))
	ids := make([]uuid.UUID, len(batch))
	counts := make(map[int64]int)
	for n, p := range batch {
		streams[n] = eventstore.NewStream(p.id, p.SaleID)
		streams[n].Record(domain.PurchaseRequested{UserID: p.UserID, Quantity: p.Quantity}, p.Metadata)
		ids[n] = p.id
		counts[p.SaleID]++
	}
	appended, err := i.Store.Start(ctx, tx, streams...)
	if err != nil {
		return nil, err
	}
	if appended.Count < len(batch) {
		// An earlier attempt was committed, with its jobs: a transaction is whole.
		events, err := i.Store.ReadStreams(ctx, tx, ids)
		if err != nil {
			return nil, err
		}
		for _, event := range events {
			if event.Version == 1 {
				acceptedAt[event.StreamID] = event.RecordedAt
			}
		}
		return acceptedAt, nil
	}
	for _, id := range ids {
		acceptedAt[id] = appended.RecordedAt
	}
	jobs := make([]river.InsertManyParams, 0, len(counts))
	for sale, count := range counts {
		jobs = append(jobs, river.InsertManyParams{Args: DecideArgs{
			SaleID: sale, TransactionID: appended.TransactionID, Count: count,
		}})
	}
	// One round trip; InsertManyFastTx is a COPY, which takes three and pays for
	// many jobs, but there is one for each sale.
	if _, err := i.River.InsertManyTx(ctx, tx, jobs); err != nil {
		return nil, fmt.Errorf("enqueue: %w", err)
	}
	return acceptedAt, nil
}
