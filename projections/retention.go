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
	// ResultsRetention is how long a result is kept as a row where nobody says
	// otherwise. After that the stream itself is folded.
	ResultsRetention = 30 * time.Minute
	// MinResultsRetention is the length of a partition, and how far back the audit
	// expects results.
	MinResultsRetention = 10 * time.Minute
	// MaxResultsRetention bounds how many partitions a read has to look into.
	MaxResultsRetention = 24 * time.Hour

	retentionBeat = time.Minute
)

// KeepResults makes the partitions of purchase_results ahead and drops those that
// are older than the retention, now and every minute, until the context ends. Any
// number of nodes may; of different retentions the shortest counts.
func KeepResults(ctx context.Context, pool *pgxpool.Pool, retention time.Duration, logger *slog.Logger) {
	tick := time.NewTicker(retentionBeat)
	defer tick.Stop()
	for {
		if err := keepResults(ctx, pool, retention); err != nil && ctx.Err() == nil {
			logger.Warn("could not keep the partitions of results", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func keepResults(ctx context.Context, pool *pgxpool.Pool, retention time.Duration) error {
	if err := queries.New(pool).KeepPurchaseResults(ctx, interval(retention)); err != nil {
		return fmt.Errorf("keep purchase results: %w", err)
	}
	return nil
}

func interval(d time.Duration) pgtype.Interval {
	return pgtype.Interval{Microseconds: d.Microseconds(), Valid: true}
}
