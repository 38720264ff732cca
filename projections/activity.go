package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/queries"
)

const (
	activityCheckpoint = "sale_activity"
	// activityBeat is how often what has happened since is added.
	activityBeat = 500 * time.Millisecond
	// activityBatch is about how many events are added by one transaction.
	activityBatch = 10_000
	// activityTimeout bounds one transaction.
	activityTimeout = 4 * time.Second
)

// Activity is what happened in one second of a sale.
type Activity struct {
	Second     time.Time
	Requests   int64 // accepted
	Confirmed  int64
	Rejected   int64
	TurnedAway int64 // refused at the door
}

// KeepActivity adds up the log per sale and second, in the table sale_activity, until
// the context ends. Any number of nodes may: the one that holds the checkpoint does,
// and another carries on from it.
func KeepActivity(ctx context.Context, pool *pgxpool.Pool, logger *slog.Logger) {
	tick := time.NewTicker(activityBeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for more := true; more; {
			var err error
			if more, err = addActivity(ctx, pool); err != nil && ctx.Err() == nil {
				logger.Warn("could not add up the activity of sales", "error", err)
			}
		}
	}
}

// addActivity adds one batch. It reports whether there is more to add now.
func addActivity(ctx context.Context, pool *pgxpool.Pool) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, activityTimeout)
	defer cancel()
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		q := queries.New(tx)
		after, err := q.LockCheckpoint(ctx, activityCheckpoint)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // another node is at it
		}
		if err != nil {
			return err
		}
		upTo, err := q.EndOfActivityBatch(ctx, queries.EndOfActivityBatchParams{After: after, Skipped: activityBatch})
		if err != nil || upTo == after {
			return err
		}
		if err := q.AddActivity(ctx, queries.AddActivityParams{After: after, UpTo: upTo}); err != nil {
			return err
		}
		horizon, err := q.TransactionHorizon(ctx)
		if err != nil {
			return err
		}
		more = upTo < horizon-1
		return q.UpdateCheckpoint(ctx, queries.UpdateCheckpointParams{Name: activityCheckpoint, TransactionID: upTo})
	})
	if err != nil {
		return false, fmt.Errorf("add activity: %w", err)
	}
	return more, nil
}

// GetActivity returns the latest seconds of a sale in which anything happened, oldest
// first, as far as they have been added up.
func GetActivity(ctx context.Context, db queries.DBTX, saleID int64, span time.Duration) ([]Activity, error) {
	rows, err := queries.New(db).GetActivity(ctx, queries.GetActivityParams{SaleID: saleID, Span: interval(span)})
	if err != nil {
		return nil, fmt.Errorf("read the activity of sale %d: %w", saleID, err)
	}
	seconds := make([]Activity, len(rows))
	for i, row := range rows {
		seconds[i] = Activity{
			Second: row.Second, Requests: row.Requests, Confirmed: row.Confirmed, Rejected: row.Rejected, TurnedAway: row.TurnedAway,
		}
	}
	return seconds, nil
}
