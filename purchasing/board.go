package purchasing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/queries"
)

const (
	// boardRefresh is how often the sales that are asked for are read again.
	boardRefresh = 250 * time.Millisecond
	// boardTrust is how long what was read may refuse a request at the door for the
	// time of day, and stateTrust for want of stock, which can come back at any time,
	// or for a pause, which can end.
	boardTrust = 3 * time.Second
	stateTrust = time.Second
	// boardIdle is how long a sale stays on the board that nobody asks for.
	boardIdle = 5 * time.Minute
)

// ErrSaleNotFound is returned for a sale that does not exist.
var ErrSaleNotFound = errors.New("there is no such sale")

// Board is what a node knows of the sales that its callers ask for, so that a
// purchase does not read its sale from the database. It is used for what hardly can
// be wrong by then: that a sale exists, its limit, and that its window is certainly
// over or certainly not yet open. It is also the gate of a sale that is sold out or
// paused: while no unit is free or the pause goes on, purchases are refused without
// touching the database, and within a second of the end of that no longer. It is read
// again at once when the node hears of a command. The decision itself always reads
// the locked row.
type Board struct {
	changed chan struct{} // a command was heard of
	logger  *slog.Logger
	pool    *pgxpool.Pool

	mu    sync.Mutex
	sales map[int64]*posting
}

type posting struct {
	sale     domain.Sale
	revision int64
	clock    reading
	askedAt  time.Time
}

// show takes in what was read of the sale; older never overwrites newer.
func (p *posting) show(row queries.Sale, clock reading) {
	if row.Revision >= p.revision {
		p.sale, p.revision, p.clock = row.Domain(), row.Revision, clock
	}
}

// NewBoard returns an empty board. Run keeps it fresh.
func NewBoard(pool *pgxpool.Pool, logger *slog.Logger) *Board {
	return &Board{changed: make(chan struct{}, 1), logger: logger, pool: pool, sales: make(map[int64]*posting)}
}

// Sale returns a sale and the reason for which a request that arrives now is
// refused by it, or "" if it must be decided. It returns ErrSaleNotFound for a
// sale that does not exist.
func (b *Board) Sale(ctx context.Context, id int64) (domain.Sale, domain.Reason, error) {
	now := time.Now()
	b.mu.Lock()
	post, ok := b.sales[id]
	if ok {
		post.askedAt = now
		sale, clock := post.sale, post.clock
		b.mu.Unlock()
		return sale, refusal(sale, clock, now), nil
	}
	b.mu.Unlock()

	before := time.Now()
	row, err := queries.New(b.pool).GetSale(ctx, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return domain.Sale{}, "", ErrSaleNotFound
	}
	if err != nil {
		return domain.Sale{}, "", fmt.Errorf("read sale %d: %w", id, err)
	}
	clock := reading{shown: row.ServerTime, before: before, after: time.Now()}
	b.mu.Lock()
	defer b.mu.Unlock()
	post, ok = b.sales[id]
	if !ok {
		post = &posting{askedAt: now}
		b.sales[id] = post
	}
	post.show(row.Sale, clock)
	return post.sale, refusal(post.sale, post.clock, time.Now()), nil
}

// refusal is the reason that holds at every moment that the database's clock may
// show now. Close to a boundary there is none, and the decision judges by the
// time of acceptance. What is sold out or paused at a fresh look is refused for that.
func refusal(sale domain.Sale, clock reading, now time.Time) domain.Reason {
	if now.Sub(clock.after) > boardTrust {
		return ""
	}
	early, late := sale.Refusal(clock.earliest(now)), sale.Refusal(clock.latest(now))
	if early != late {
		return ""
	}
	recent := now.Sub(clock.before) < stateTrust
	switch {
	case early == "" && sale.Available == 0 && recent:
		return domain.ReasonSoldOut
	case early == domain.ReasonSalePaused && !recent:
		return ""
	}
	return early
}

// Committed implements eventstore.Follower: after a command the sales are read again
// at once.
func (b *Board) Committed(events []eventstore.Event) {
	for _, event := range events {
		switch event.Data.(type) {
		case domain.SalePaused, domain.SaleResumed, domain.SaleClosed, domain.SaleRescheduled, domain.StockAdded:
			b.Connected()
			return
		}
	}
}

// Connected implements eventstore.Follower: a command may have been missed.
func (b *Board) Connected() {
	select {
	case b.changed <- struct{}{}:
	default: // it is about to read
	}
}

// Run reads the sales on the board again, some times a second and when it hears of a
// command, until the context ends.
func (b *Board) Run(ctx context.Context) {
	tick := time.NewTicker(boardRefresh)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-b.changed:
		}
		if err := b.refresh(ctx); err != nil && ctx.Err() == nil {
			b.logger.Warn("could not refresh the board of sales", "error", err)
		}
	}
}

func (b *Board) refresh(ctx context.Context) error {
	ids := b.wanted(time.Now())
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, boardTrust)
	defer cancel()
	before := time.Now()
	rows, err := queries.New(b.pool).GetSales(ctx, ids)
	if err != nil {
		return err
	}
	after := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, row := range rows {
		if post, ok := b.sales[row.Sale.SaleID]; ok {
			post.show(row.Sale, reading{shown: row.ServerTime, before: before, after: after})
		}
	}
	return nil
}

// wanted drops the sales that nobody asked for lately and lists the others.
func (b *Board) wanted(now time.Time) []int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := make([]int64, 0, len(b.sales))
	for id, post := range b.sales {
		if now.Sub(post.askedAt) > boardIdle {
			delete(b.sales, id)
			continue
		}
		ids = append(ids, id)
	}
	return ids
}
