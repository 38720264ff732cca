package purchasing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"seckill/queries"
)

const (
	// beat is how often upkeep looks after the queue.
	beat = time.Second
	// sweepAge is how many beats an undecided request is left to its job before the
	// sweep asks where the job is.
	sweepAge = 5
	// sweepRange is how many transaction IDs one statement of the sweep covers.
	sweepRange = 5_000
	// lockClass is the class of the advisory locks that are signs of life.
	lockClass = 0x5EC4
	// keysEvery is how many beats pass between two clean-ups of idempotency keys.
	keysEvery = 60

	inboxCheckpoint = "inbox"
)

// Upkeep heals the queue, on every node, every second. River's own rescuer runs
// on one leader every 30 seconds, and buyers do not wait that long.
//
// It gives jobs back whose worker is gone or stuck, and it proves that every
// accepted request has a job: it looks at each request that is older than a few
// seconds once, and makes a job for one that is undecided and has none.
//
// Its connection is the node's sign of life: it holds an advisory lock of the
// client ID, which the server frees the moment the process dies.
type Upkeep struct {
	clientID string
	config   *pgx.ConnConfig
	logger   *slog.Logger
	river    *RiverClient

	nodes atomic.Int64

	conn     *pgx.Conn
	horizons []int64 // of the last beats, oldest first
	beats    int
}

// NewUpkeep connects, and takes the sign of life of the queue client.
func NewUpkeep(ctx context.Context, config *pgx.ConnConfig, river *RiverClient, logger *slog.Logger) (*Upkeep, error) {
	u := &Upkeep{clientID: river.ID(), config: config, logger: logger, river: river}
	if err := u.connect(ctx); err != nil {
		return nil, err
	}
	return u, nil
}

// Nodes returns how many nodes showed signs of life at the last beat; at least 1.
func (u *Upkeep) Nodes() int { return max(1, int(u.nodes.Load())) }

// Run keeps up the queue until the context ends, and connects again whenever its
// connection is lost.
func (u *Upkeep) Run(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	defer u.disconnect(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := u.beat(ctx); err != nil && ctx.Err() == nil {
				u.logger.Warn("upkeep failed; it goes on with the next beat", "error", err)
			}
		}
	}
}

func (u *Upkeep) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, u.config)
	if err != nil {
		return fmt.Errorf("connect for upkeep: %w", err)
	}
	err = queries.New(conn).HoldSignOfLife(ctx, queries.HoldSignOfLifeParams{LockClass: lockClass, ClientID: u.clientID})
	if err != nil {
		_ = conn.Close(ctx) // the first error says more
		return fmt.Errorf("take the sign of life: %w", err)
	}
	u.conn = conn
	return nil
}

func (u *Upkeep) disconnect(ctx context.Context) {
	if u.conn != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = u.conn.Close(ctx) // it is given up either way
		u.conn = nil
	}
}

func (u *Upkeep) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if u.conn == nil || u.conn.IsClosed() {
		u.conn = nil
		if err := u.connect(ctx); err != nil {
			return err
		}
	}
	rescued, err := queries.New(u.conn).RescueJobs(ctx, lockClass)
	if err != nil {
		return fmt.Errorf("rescue jobs: %w", err)
	}
	if rescued > 0 {
		u.logger.Warn("gave jobs back whose worker was gone or stuck", "jobs", rescued)
	}
	nodes, err := queries.New(u.conn).CountNodes(ctx, lockClass)
	if err != nil {
		return fmt.Errorf("count the nodes: %w", err)
	}
	u.nodes.Store(nodes)
	if err := u.sweep(ctx); err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	u.beats++
	if u.beats%keysEvery == 0 {
		if _, err := queries.New(u.conn).DeleteExpiredIdempotencyKeys(ctx); err != nil {
			return fmt.Errorf("delete expired idempotency keys: %w", err)
		}
	}
	return nil
}

// sweep looks at what was committed at least sweepAge beats ago: everything below
// the horizon that was seen then.
func (u *Upkeep) sweep(ctx context.Context) error {
	horizon, err := queries.New(u.conn).TransactionHorizon(ctx)
	if err != nil {
		return err
	}
	u.horizons = append(u.horizons, horizon)
	if len(u.horizons) <= sweepAge {
		return nil
	}
	before := u.horizons[0]
	u.horizons = u.horizons[1:]
	return u.sweepBelow(ctx, before)
}

// sweepBelow looks at every request that was accepted by a transaction below the
// horizon and not looked at before, and leaves the checkpoint below the first
// that is still undecided.
func (u *Upkeep) sweepBelow(ctx context.Context, horizon int64) error {
	tx, err := u.conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer rollback(ctx, tx)
	q := queries.New(tx)
	swept, err := q.LockCheckpoint(ctx, inboxCheckpoint)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // another node sweeps
	}
	if err != nil {
		return err
	}
	before := min(horizon, swept+sweepRange)
	if before <= swept+1 {
		return nil
	}
	undecided, err := q.GetUndecidedTransactions(ctx, queries.GetUndecidedTransactionsParams{After: swept, Before: before})
	if err != nil {
		return err
	}
	upTo := before - 1
	if len(undecided) > 0 {
		upTo = undecided[0].TransactionID - 1
		if err := u.enqueueLost(ctx, tx, undecided); err != nil {
			return err
		}
	}
	if err := q.UpdateCheckpoint(ctx, queries.UpdateCheckpointParams{Name: inboxCheckpoint, TransactionID: upTo}); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	if len(undecided) == 0 && before < horizon {
		return u.sweepBelow(ctx, horizon)
	}
	return nil
}

// enqueueLost makes jobs for those of the transactions that have none.
func (u *Upkeep) enqueueLost(ctx context.Context, tx pgx.Tx, undecided []queries.GetUndecidedTransactionsRow) error {
	var jobs []river.InsertManyParams
	for _, t := range undecided {
		if !t.HasJob {
			jobs = append(jobs, river.InsertManyParams{Args: DecideArgs{
				SaleID: t.SaleID, TransactionID: t.TransactionID, Count: int(t.Count),
			}})
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	u.logger.Error("requests had lost their jobs; made new ones", "jobs", len(jobs))
	_, err := u.river.InsertManyTx(ctx, tx, jobs)
	return err
}
