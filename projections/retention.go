package projections

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/queries"
)

const (
	// resultsRetention is how long a result is kept as a row. After that the
	// stream itself is folded.
	resultsRetention = 30 * time.Minute
	retentionBeat    = time.Minute
)

// KeepResults makes the partitions of purchase_results ahead and drops the old
// ones, now and every minute, until the context ends. Any number of nodes may.
func KeepResults(ctx context.Context, pool *pgxpool.Pool, logger *slog.Logger) {
	tick := time.NewTicker(retentionBeat)
	defer tick.Stop()
	for {
		if err := keepResults(ctx, pool); err != nil && ctx.Err() == nil {
			logger.Warn("could not keep the partitions of results", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func keepResults(ctx context.Context, pool *pgxpool.Pool) error {
	if err := queries.New(pool).KeepPurchaseResults(ctx, interval(resultsRetention)); err != nil {
		return fmt.Errorf("keep purchase results: %w", err)
	}
	return nil
}

func interval(d time.Duration) pgtype.Interval {
	return pgtype.Interval{Microseconds: d.Microseconds(), Valid: true}
}
