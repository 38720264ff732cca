package purchasing

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"seckill/eventstore"
)

const (
	// drainFor bounds how long one job goes on deciding what waits behind it.
	drainFor = 500 * time.Millisecond
	// batchTimeout bounds one transaction. It is below the sessions' time-outs, so
	// that the node gives up before the server does.
	batchTimeout = 3 * time.Second
)

// DecideWorker decides purchases. Its job is one intake transaction's requests of
// one sale, but while it holds the sale's lock it takes whatever else waits for
// that sale, up to the largest batch: under load the fixed cost of a transaction
// is shared by hundreds.
//
// The sale's lock and version 2 of each purchase are the only guards. What the
// queue says of a job is a hint: a job that runs twice finds its requests
// decided, and completes.
type DecideWorker struct {
	river.WorkerDefaults[DecideArgs]

	logger   *slog.Logger
	maxBatch int
	metrics  *Metrics
	pool     *pgxpool.Pool
	store    *eventstore.Store
}

// NewDecideWorker returns a worker that decides at most maxBatch requests in one
// transaction. With maxBatch 1 it decides its own job's requests only, which is
// the naive way, for comparison.
func NewDecideWorker(pool *pgxpool.Pool, store *eventstore.Store, maxBatch int, metrics *Metrics, logger *slog.Logger) *DecideWorker {
	return &DecideWorker{logger: logger, maxBatch: maxBatch, metrics: metrics, pool: pool, store: store}
}

// NextRetry implements river.Worker.
func (w *DecideWorker) NextRetry(*river.Job[DecideArgs]) time.Time {
	return time.Now().Add(retryDelay)
}

// Work implements river.Worker. It returns nil once the job's requests are
// decided, whatever happens to those that it decided on the way.
func (w *DecideWorker) Work(ctx context.Context, job *river.Job[DecideArgs]) error {
	stopDraining := time.Now().Add(drainFor)
	decided := make(map[int64]bool)
	for {
		done, err := w.decide(ctx, job, batchScope{drain: w.maxBatch > 1, decided: decided})
		if err != nil {
			return w.afterFailure(ctx, job, decided[job.Args.TransactionID], err)
		}
		for _, id := range done.transactions {
			decided[id] = true
		}
		goOn := done.busy && ctx.Err() == nil && time.Now().Before(stopDraining)
		if decided[job.Args.TransactionID] && !goOn {
			return nil
		}
	}
}

// afterFailure deals with a failed batch. Only what is bound to fail again is taken
// apart, and only within the job's own requests: the others have jobs of their own.
func (w *DecideWorker) afterFailure(ctx context.Context, job *river.Job[DecideArgs], own bool, err error) error {
	log := w.logger.With("sale", job.Args.SaleID, "job", job.ID)
	switch {
	case own:
		log.Warn("stopped draining a sale", "error", err)
		return nil
	case !isDeterministic(err):
		return fmt.Errorf("decide a batch: %w", err)
	default:
		log.Error("a batch cannot be decided as a whole; taking the job's own requests apart", "error", err)
		return w.decideApart(ctx, job, nil)
	}
}

// decideApart decides the job's requests with these IDs, or all of them when ids
// is nil. Where that is bound to fail it decides each half by itself; a request
// that cannot be decided alone is rejected as internal.
func (w *DecideWorker) decideApart(ctx context.Context, job *river.Job[DecideArgs], ids []uuid.UUID) error {
	done, err := w.decide(ctx, job, batchScope{only: ids})
	if err == nil {
		return nil
	}
	if !isDeterministic(err) || len(done.requests) == 0 {
		return fmt.Errorf("decide %d requests apart: %w", len(done.requests), err)
	}
	if len(done.requests) == 1 {
		w.logger.Error("rejected a request that cannot be decided",
			"sale", job.Args.SaleID, "job", job.ID, "request", done.requests[0], "error", err)
		_, err := w.decide(ctx, job, batchScope{only: done.requests, reject: true})
		if err != nil {
			return fmt.Errorf("reject request %s: %w", done.requests[0], err)
		}
		return nil
	}
	half := len(done.requests) / 2
	if err := w.decideApart(ctx, job, done.requests[:half]); err != nil {
		return err
	}
	return w.decideApart(ctx, job, done.requests[half:])
}
