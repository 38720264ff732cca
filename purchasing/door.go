package purchasing

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/domain"
	"seckill/eventstore"
)

const (
	// doorReport is how often what was turned away is recorded.
	doorReport = time.Second
	// doorTimeout bounds one report.
	doorTimeout = 2 * time.Second
)

// Door counts the purchases that a node refuses without accepting them, and
// records the counts as events. A crash loses at most what was counted since the
// last report: nobody was promised anything.
type Door struct {
	logger *slog.Logger
	pool   *pgxpool.Pool
	store  *eventstore.Store

	mu     sync.Mutex
	counts map[turnedAway]int64
	// unsure are reports whose commit failed: they are in the store or not, and are
	// sent again under the same IDs, which changes nothing if they are.
	unsure []report
}

type turnedAway struct {
	saleID int64
	reason domain.Reason
}

// report is a count on its way into the store.
type report struct {
	turnedAway
	id    uuid.UUID // of its stream
	count int64
}

// NewDoor returns a door. Run records what it counts.
func NewDoor(pool *pgxpool.Pool, store *eventstore.Store, logger *slog.Logger) *Door {
	return &Door{logger: logger, pool: pool, store: store, counts: make(map[turnedAway]int64)}
}

// TurnAway counts a purchase that is refused.
func (d *Door) TurnAway(saleID int64, reason domain.Reason) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts[turnedAway{saleID, reason}]++
}

// Run records the counts every second until the context ends, and once more then.
func (d *Door) Run(ctx context.Context) {
	tick := time.NewTicker(doorReport)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			d.report(context.WithoutCancel(ctx))
			return
		case <-tick.C:
			d.report(ctx)
		}
	}
}

func (d *Door) report(ctx context.Context) {
	reports, err := d.take()
	if err == nil && len(reports) > 0 {
		err = d.record(ctx, reports)
	}
	if err != nil {
		d.logger.Warn("could not record who was turned away; it is tried again", "error", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unsure = nil
	if err != nil {
		d.unsure = reports
	}
}

// take returns the reports that are unsure, or else makes some of the counts: in an
// outage the counts grow, not the reports.
func (d *Door) take() ([]report, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.unsure) > 0 {
		return d.unsure, nil
	}
	var reports []report
	for key, count := range d.counts {
		id, err := uuid.NewV7()
		if err != nil {
			return nil, fmt.Errorf("make a stream ID: %w", err)
		}
		reports = append(reports, report{turnedAway: key, id: id, count: count})
	}
	clear(d.counts)
	return reports, nil
}

func (d *Door) record(ctx context.Context, reports []report) error {
	ctx, cancel := context.WithTimeout(ctx, doorTimeout)
	defer cancel()
	streams := make([]*eventstore.Stream, len(reports))
	for i, r := range reports {
		streams[i] = eventstore.NewStream(r.id, r.saleID)
		streams[i].Record(domain.PurchasesTurnedAway{Reason: r.reason, Count: r.count}, nil)
	}
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		_, err := d.store.Start(ctx, tx, streams...)
		return err
	})
}
