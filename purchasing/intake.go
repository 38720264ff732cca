package purchasing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/domain"
	"seckill/eventstore"
)

const (
	// flushers is how many transactions take purchases in at the same time: while
	// one waits for the disk, the other collects.
	flushers = 2
	// queueLength is how many purchases may wait to be taken in; more are refused.
	queueLength = 8192
	// queuePatience is how long a purchase waits to be taken in. Then it is refused:
	// the database cannot keep up, and the buyer should not hang on.
	queuePatience = time.Second
)

var (
	// ErrKeyReused is returned for an idempotency key that was used with another request.
	ErrKeyReused = errors.New("the idempotency key was used for another request")
	// ErrOverloaded is returned when more wait than can be taken in soon. Nothing
	// was accepted; the buyer may try again.
	ErrOverloaded = errors.New("too many purchases are waiting to be taken in")
	// ErrStopped is returned once the intake has been closed.
	ErrStopped = errors.New("the intake is closed")
)

// RefusedError says that a sale refuses every purchase at this time.
type RefusedError struct {
	Sale   domain.Sale
	Reason domain.Reason
}

// Error implements error.
func (e *RefusedError) Error() string { return "refused at the door: " + string(e.Reason) }

// QuantityError says that no request of this quantity can succeed.
type QuantityError struct{ Limit int }

// Error implements error.
func (e *QuantityError) Error() string { return fmt.Sprintf("at most %d a buyer", e.Limit) }

// UnavailableError says that the database did not answer. It is unknown whether
// the request was accepted: its ID will tell.
type UnavailableError struct {
	RequestID uuid.UUID
	Err       error
}

// Error implements error.
func (e *UnavailableError) Error() string { return "the database does not answer: " + e.Err.Error() }

// Unwrap returns what the database said last.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Request asks for units of a sale.
type Request struct {
	SaleID   int64
	UserID   string
	Quantity int
	Metadata []byte // JSON object kept with the event, or nil

	// Key is the buyer's idempotency key, or ""; BodyHash is what makes a request
	// the same under that key.
	Key      string
	BodyHash []byte
}

// Accepted is a request that will be decided.
type Accepted struct {
	RequestID  uuid.UUID
	AcceptedAt time.Time // zero for a replay
	Replay     bool      // an earlier request had the same idempotency key
}

// IntakeConfig is what an Intake is made of.
type IntakeConfig struct {
	Backlog  *Backlog
	Board    *Board
	Door     *Door
	Logger   *slog.Logger
	MaxBatch int // the most purchases in one transaction
	Metrics  *Metrics
	Pool     *pgxpool.Pool
	River    *RiverClient
	Store    *eventstore.Store
}

// Intake takes purchases in. Callers that come at the same time share a
// transaction (group commit): whoever is waiting when a flusher becomes free goes
// with it. There is no timer, so a lone purchase is not delayed.
type Intake struct {
	IntakeConfig

	running sync.WaitGroup
	mu      sync.RWMutex // held for reading while sending to the channels
	closed  bool
	queue   chan *pending
	lookups chan *lookup
}

// pending is a request that waits for its transaction.
type pending struct {
	Request
	id       uuid.UUID
	queuedAt time.Time
	done     chan outcome // of one
	begun    atomic.Bool  // a flusher has it, or its caller took it back
}

// begin claims the request for the one who takes it in or back: the first.
func (p *pending) begin() bool { return p.begun.CompareAndSwap(false, true) }

type outcome struct {
	accepted Accepted
	err      error
}

// NewIntake returns an intake that works until Close.
func NewIntake(config IntakeConfig) *Intake {
	i := &Intake{
		IntakeConfig: config,
		queue:        make(chan *pending, queueLength),
		lookups:      make(chan *lookup, queueLength),
	}
	for range flushers {
		i.running.Go(i.flushUntilClosed)
	}
	i.running.Go(i.lookUpUntilClosed)
	return i
}

// Submit takes a purchase in and returns once it is durable. Besides the errors
// above it returns ErrSaleNotFound, *RefusedError, *QuantityError, and
// *UnavailableError when the outcome is unknown. If the context ends first, the
// request may be accepted all the same. An answer comes within seconds, whatever
// the database does.
func (i *Intake) Submit(ctx context.Context, request Request) (Accepted, error) {
	accepted, err := i.submit(ctx, request)
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		i.Door.TurnAway(request.SaleID, refused.Reason)
		i.Metrics.turnedAway.WithLabelValues(string(refused.Reason)).Inc()
	}
	if errors.Is(err, ErrOverloaded) {
		i.Metrics.turnedAway.WithLabelValues(reasonOverloaded).Inc()
	}
	return accepted, err
}

// Overloaded reports whether a sale is so far behind that Submit would return
// ErrOverloaded whatever the request; it counts as refused.
func (i *Intake) Overloaded(saleID int64) bool {
	if !i.Backlog.full(saleID) {
		return false
	}
	i.Metrics.turnedAway.WithLabelValues(reasonOverloaded).Inc()
	return true
}

func (i *Intake) submit(ctx context.Context, request Request) (Accepted, error) {
	sale, reason, err := i.Board.Sale(ctx, request.SaleID)
	if err != nil {
		return Accepted{}, err
	}
	if request.Quantity > sale.PerUserLimit {
		return Accepted{}, &QuantityError{Limit: sale.PerUserLimit}
	}
	if reason != "" {
		// A repeated request must get its first answer, also when the sale is over.
		if replay, err := i.replay(ctx, request); err != nil || replay.Replay {
			return replay, err
		}
		return Accepted{}, &RefusedError{Sale: sale, Reason: reason}
	}
	if i.Backlog.full(request.SaleID) {
		return Accepted{}, ErrOverloaded
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Accepted{}, fmt.Errorf("make a request ID: %w", err)
	}
	p := &pending{Request: request, id: id, queuedAt: time.Now(), done: make(chan outcome, 1)}
	if err := send(i, i.queue, p); err != nil {
		return Accepted{}, err
	}
	return i.await(ctx, p)
}

// await returns the request's outcome. It takes the request back if no flusher
// has begun with it when the patience or the context ends.
func (i *Intake) await(ctx context.Context, p *pending) (Accepted, error) {
	patience := time.NewTimer(queuePatience)
	defer patience.Stop()
	for {
		select {
		case o := <-p.done:
			return o.accepted, o.err
		case <-patience.C:
			if p.begin() {
				return Accepted{}, ErrOverloaded
			}
		case <-ctx.Done():
			p.begin()
			return Accepted{}, ctx.Err()
		}
	}
}

// Close stops the intake after everything that waits has been taken in.
func (i *Intake) Close() {
	i.mu.Lock()
	if !i.closed {
		i.closed = true
		close(i.queue)
		close(i.lookups)
	}
	i.mu.Unlock()
	i.running.Wait()
}

// send puts a value into one of the intake's channels, unless that is full or
// the intake is closed.
func send[T any](i *Intake, channel chan<- T, value T) error {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if i.closed {
		return ErrStopped
	}
	select {
	case channel <- value:
		return nil
	default:
		return ErrOverloaded
	}
}

func (i *Intake) flushUntilClosed() {
	for first := range i.queue {
		// What was taken back in the meantime is left out.
		if batch := collect(i.queue, first, i.MaxBatch, (*pending).begin); len(batch) > 0 {
			i.flush(batch)
		}
	}
}

// collect takes the first value and whatever else is waiting in the channel now,
// as far as it is wanted, up to the limit.
func collect[T any](channel <-chan T, first T, limit int, wanted func(T) bool) []T {
	var batch []T
	for value := first; ; {
		if wanted(value) {
			batch = append(batch, value)
		}
		if len(batch) == limit {
			return batch
		}
		select {
		case next, ok := <-channel:
			if !ok {
				return batch
			}
			value = next
		default:
			return batch
		}
	}
}
