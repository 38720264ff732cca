package purchasing

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// RiverClient is the queue, for this database.
type RiverClient = river.Client[pgx.Tx]

// NewRiver returns the queue's client. Every node registers every kind of job: a
// leader discards stuck jobs of kinds that it does not know. The client ID is
// the node's name in the jobs that it works; Upkeep must hold its sign of life
// before the client is started.
func NewRiver(ctx context.Context, pool *pgxpool.Pool, clientID string, decide *DecideWorker, logger *slog.Logger) (*RiverClient, error) {
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, decide); err != nil {
		return nil, fmt.Errorf("register the decide worker: %w", err)
	}
	queues := make(map[string]river.QueueConfig, lanes)
	for id := range int64(lanes) {
		queues[lane(id)] = river.QueueConfig{MaxWorkers: 1}
	}
	// River makes its indexes anew at midnight, which only their owner may; left to
	// itself it would complain of that each day.
	var owned bool
	if err := pool.QueryRow(ctx, "select pg_has_role(relowner, 'usage') from pg_class where oid = 'river_job'::regclass").Scan(&owned); err != nil {
		return nil, fmt.Errorf("ask whose queue it is: %w", err)
	}
	var reindexing river.PeriodicSchedule // River's own
	if !owned {
		reindexing = river.NeverSchedule()
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		CompletedJobRetentionPeriod: time.Minute,
		// The cooldown also limits how often this client notifies of inserts; its
		// default of 100 ms would be added to the latency of most purchases.
		FetchCooldown:        2 * time.Millisecond,
		FetchPollInterval:    100 * time.Millisecond,
		ID:                   clientID,
		JobTimeout:           5 * time.Second,
		Logger:               logger,
		Queues:               queues,
		ReindexerSchedule:    reindexing,
		RescueStuckJobsAfter: time.Minute, // Upkeep is there long before
		SoftStopTimeout:      5 * time.Second,
		Workers:              workers,
	})
	if err != nil {
		return nil, fmt.Errorf("make the queue's client: %w", err)
	}
	return client, nil
}
