package purchasing

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/queries"
)

const (
	// backlogRefresh is how often the backlog is looked at while purchases come in.
	backlogRefresh = 100 * time.Millisecond
	// backlogTrust is how long a look counts; an older one refuses nobody.
	backlogTrust = time.Second
	// maxUndecided and maxUndecidedAge are how many purchases of a sale may wait to be
	// decided, and for how long, before more are refused: what is accepted is decided
	// within a second or two, and what cannot be is refused at once.
	maxUndecided    = 2_500
	maxUndecidedAge = time.Second
)

// Backlog is what waits to be decided, on all nodes together. It refuses purchases
// of a sale that is behind: without it intake, which is the cheaper half of the
// work, would starve deciding.
type Backlog struct {
	logger *slog.Logger
	pool   *pgxpool.Pool

	mu         sync.Mutex
	sales      map[int64]*waiting
	acceptedAt time.Time // by this node, last
	lookedAt   time.Time
}

// waiting is what waits of one sale.
type waiting struct {
	undecided int           // at the last look
	oldest    time.Duration // age of the oldest then
	since     int           // accepted by this node since the last look
}

// NewBacklog returns a backlog that refuses nobody until Run keeps it up to date.
func NewBacklog(pool *pgxpool.Pool, logger *slog.Logger) *Backlog {
	return &Backlog{logger: logger, pool: pool, sales: make(map[int64]*waiting)}
}

// full reports whether a sale is so far behind that it must not take more in now.
func (b *Backlog) full(saleID int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	w, ok := b.sales[saleID]
	return ok && time.Since(b.lookedAt) < backlogTrust &&
		(w.undecided+w.since >= maxUndecided || w.oldest >= maxUndecidedAge)
}

// Waiting returns how many purchases wait on all nodes, and the age of the oldest,
// at the last look.
func (b *Backlog) Waiting() (undecided int, oldest time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.sales {
		undecided += w.undecided
		oldest = max(oldest, w.oldest)
	}
	return undecided, oldest
}

// accepted counts purchases that this node has just taken in.
func (b *Backlog) accepted(saleID int64, count int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.acceptedAt = time.Now()
	w, ok := b.sales[saleID]
	if !ok {
		w = &waiting{}
		b.sales[saleID] = w
	}
	w.since += count
}

// Run looks at the backlog some times a second, while purchases come in or
// something waits, until the context ends.
func (b *Backlog) Run(ctx context.Context) {
	tick := time.NewTicker(backlogRefresh)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if !b.active() {
				continue
			}
			if err := b.look(ctx); err != nil && ctx.Err() == nil {
				b.logger.Warn("could not look at the backlog", "error", err)
			}
		}
	}
}

// active reports whether there may be a backlog: something was accepted lately, or
// waited at the last look.
func (b *Backlog) active() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.sales) > 0 || time.Since(b.acceptedAt) < backlogTrust
}

func (b *Backlog) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, backlogTrust)
	defer cancel()
	rows, err := queries.New(b.pool).GetBacklog(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.sales)
	for _, row := range rows {
		b.sales[row.SaleID] = &waiting{undecided: int(row.Undecided), oldest: time.Duration(row.OldestUs) * time.Microsecond}
	}
	b.lookedAt = time.Now()
	return nil
}
