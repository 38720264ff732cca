package purchasing

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/queries"
)

// batchScope says which requests one transaction decides.
type batchScope struct {
	drain   bool           // the job's own and what else waits for the sale; else the own only
	decided map[int64]bool // transactions whose requests earlier batches of this run decided
	only    []uuid.UUID    // of the own, only these; nil for all
	reject  bool           // reject them as internal, whatever they are
}

// batchDone says what a transaction did, or tried to do when it failed.
type batchDone struct {
	busy         bool // others waited as well: more may be waiting by now
	requests     []uuid.UUID
	transactions []int64 // whose requests of the sale are all decided
}

// decide decides one batch in one transaction: locks the sale, reads what is to
// be decided under the lock, lets the domain decide in order of acceptance, and
// writes all that follows from it.
func (w *DecideWorker) decide(ctx context.Context, job *river.Job[DecideArgs], scope batchScope) (done batchDone, err error) {
	// The job's context must not cut the connection in the middle of a batch; the
	// batch has a time-out of its own.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batchTimeout)
	defer cancel()
	defer func() {
		if value := recover(); value != nil {
			err = &panicError{value}
		}
	}()

	begun := time.Now()
	tx, err := w.pool.Begin(ctx)
	if err != nil {
		return done, fmt.Errorf("begin: %w", err)
	}
	defer rollback(ctx, tx)

	q := queries.New(tx)
	if err := q.QueueForSale(ctx, queries.QueueForSaleParams{LockClass: saleLockClass, SaleID: job.Args.SaleID}); err != nil {
		return done, fmt.Errorf("queue for sale %d: %w", job.Args.SaleID, err)
	}
	row, err := q.LockSale(ctx, job.Args.SaleID)
	if err != nil {
		return done, fmt.Errorf("lock sale %d: %w", job.Args.SaleID, err)
	}

	jobs := []inboxJob{ownJob(job)}
	if scope.drain {
		if jobs, err = takeInbox(ctx, tx, job, w.maxBatch, scope.decided); err != nil {
			return done, err
		}
		done.busy = len(othersWaiting(jobs, job.ID)) > 0
	}
	undecided, err := q.GetUndecided(ctx, queries.GetUndecidedParams{
		TransactionIds: transactionIDs(jobs),
		SaleID:         job.Args.SaleID,
		AnyFree:        row.Available > 0,
	})
	if err != nil {
		return done, fmt.Errorf("read what is undecided: %w", err)
	}
	undecided = only(undecided, scope.only)
	for _, request := range undecided {
		done.requests = append(done.requests, request.Event.StreamID)
	}

	var writes queries.Pipeline
	var purchases []*eventstore.Stream
	if len(undecided) > 0 {
		if purchases, err = w.decideRequests(ctx, tx, &writes, row.Domain(), undecided, job.ID, scope.reject); err != nil {
			return done, err
		}
	}
	if others := othersWaiting(jobs, job.ID); len(others) > 0 {
		if err := queries.New(&writes).DeleteJobs(ctx, others); err != nil {
			return done, err
		}
	}
	if scope.only == nil {
		done.transactions = transactionIDs(jobs)
	}
	if slices.Contains(done.transactions, job.Args.TransactionID) {
		if err := queries.New(&writes).CompleteJob(ctx, job.ID); err != nil {
			return done, err
		}
	}
	if err := writes.Send(ctx, tx); err != nil {
		return done, fmt.Errorf("write a batch of %d: %w", len(undecided), err)
	}
	if err := tx.Commit(ctx); err != nil {
		return done, fmt.Errorf("commit a batch of %d: %w", len(undecided), err)
	}
	w.metrics.decidedBatch(purchases, begun)
	return done, nil
}

// decideRequests lets the domain decide the requests one after the other, appends
// and queues what follows, and returns the purchases.
func (w *DecideWorker) decideRequests(ctx context.Context, tx pgx.Tx, writes *queries.Pipeline,
	sale domain.Sale, requests []queries.GetUndecidedRow, jobID int64, reject bool,
) ([]*eventstore.Stream, error) {
	causation := []byte(`{"job":` + strconv.FormatInt(jobID, 10) + `}`)
	streams := make([]*eventstore.Stream, len(requests))
	holdings := make(map[string]*holding, len(requests))
	for i, request := range requests {
		stream := eventstore.LoadedStream([]eventstore.Event{eventstore.FromRow(request.Event)})
		streams[i] = stream
		requested, readable := stream.Events[0].Data.(domain.PurchaseRequested)
		if reject || !readable {
			stream.Record(domain.PurchaseRejected{Reason: domain.ReasonInternal}, causation)
			continue
		}
		held, ok := holdings[requested.UserID]
		if !ok {
			held = holdingOf(request)
			holdings[requested.UserID] = held
		}
		outcome := sale.Decide(domain.Purchase{
			RequestID:  stream.ID,
			UserID:     requested.UserID,
			Quantity:   requested.Quantity,
			AcceptedAt: stream.Events[0].RecordedAt,
		}, held.Holding, domain.OrderID(request.OrderNumber), request.Now)
		sale.Apply(outcome)
		held.Apply(stream.ID, outcome)
		stream.Record(outcome, causation)
		if _, confirmed := outcome.(domain.PurchaseConfirmed); confirmed {
			held.changed = true
		}
	}

	if _, err := w.store.Append(ctx, tx, writes, streams...); err != nil {
		return nil, err
	}
	q := queries.New(writes)
	if err := q.UpdateSaleAvailable(ctx, queries.UpdateSaleAvailableParams{SaleID: sale.ID, Available: sale.Available}); err != nil {
		return nil, err
	}
	if rows := allowances(sale.ID, holdings); len(rows.UserIds) > 0 {
		if err := q.UpsertAllowances(ctx, rows); err != nil {
			return nil, err
		}
	}
	return streams, nil
}

// holding is what a buyer holds, and whether this batch changed it.
type holding struct {
	domain.Holding
	changed bool
}

func holdingOf(row queries.GetUndecidedRow) *holding {
	return &holding{Holding: domain.Holding{
		Quantity: int(row.HeldQuantity), RequestID: row.HeldRequestID, OrderID: row.HeldOrderID,
	}}
}

func allowances(saleID int64, holdings map[string]*holding) queries.UpsertAllowancesParams {
	rows := queries.UpsertAllowancesParams{SaleID: saleID}
	for user, held := range holdings {
		if held.changed {
			rows.UserIds = append(rows.UserIds, user)
			rows.Quantities = append(rows.Quantities, int64(held.Quantity))
			rows.RequestIds = append(rows.RequestIds, held.RequestID)
			rows.OrderIds = append(rows.OrderIds, held.OrderID)
		}
	}
	return rows
}

func transactionIDs(jobs []inboxJob) []int64 {
	ids := make([]int64, len(jobs))
	for i, job := range jobs {
		ids[i] = job.transactionID
	}
	return ids
}

func othersWaiting(jobs []inboxJob, own int64) []int64 {
	ids := make([]int64, 0, len(jobs))
	for _, job := range jobs {
		if job.waiting && job.id != own {
			ids = append(ids, job.id)
		}
	}
	return ids
}

func only(requests []queries.GetUndecidedRow, ids []uuid.UUID) []queries.GetUndecidedRow {
	if ids == nil {
		return requests
	}
	return slices.DeleteFunc(requests, func(r queries.GetUndecidedRow) bool {
		return !slices.Contains(ids, r.Event.StreamID)
	})
}

// rollback ends a transaction that was not committed, also when its context has
// ended; after a commit it does nothing.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = tx.Rollback(ctx) // a connection on which even this fails is closed by the pool
}
