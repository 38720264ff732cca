package http

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/r3labs/sse/v2"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/projections"
)

const (
	// saleHubTick is how often the hub looks whether there is something to read.
	saleHubTick = 50 * time.Millisecond
	// saleHubPace is how often a watcher is shown a sale at most, and saleHubShare how
	// much longer that takes for each watcher: showing it to one costs about 30 µs of
	// CPU (docs/performance.md), so that all watchers of a sale take about one core.
	saleHubPace  = 250 * time.Millisecond
	saleHubShare = 28 * time.Microsecond
	// saleHubRecheck is after how long a sale is read that the hub heard nothing of.
	saleHubRecheck = 15 * time.Second
	// saleHubPatience is how long a new watcher waits for the first look at a sale.
	saleHubPatience = 5 * time.Second
)

var errSaleNotRead = errors.New("the sale could not be read in time")

// SaleHub tells whoever watches a sale how it stands, soon after it has changed by
// whatever node. All watchers of a sale share what is read of it, and all sales
// that have changed are read by one query. Who is slow gets the latest only.
type SaleHub struct {
	logger *slog.Logger
	read   func(ctx context.Context, ids []int64) ([]projections.Sale, error)
	fresh  chan struct{} // there is a sale that was never read

	mu    sync.Mutex
	sales map[int64]*watchedSale
}

type watchedSale struct {
	sale    projections.Sale // zero Revision: not read yet, or there is none
	readAt  time.Time
	askedAt time.Time     // when it was read, or tried to be
	looked  chan struct{} // closed after the first look
	changed bool          // since it was read
	watches map[*SaleWatch]bool
}

// SaleUpdate is a sale as it stands, ready to be sent.
type SaleUpdate struct {
	Closed   bool // nothing follows
	Revision int64

	event *sse.Event
}

// SaleWatcher is shown a sale, by whatever means its client has.
type SaleWatcher interface {
	// Show is called with the sale as it stands and whenever it has changed. It must
	// not block: others watch too.
	Show(update SaleUpdate)
}

// SaleWatch is a watcher that watches one sale.
type SaleWatch struct {
	hub     *SaleHub
	saleID  int64
	watcher SaleWatcher
}

// NewSaleHub returns a hub that reads through the pool. Run keeps it right.
func NewSaleHub(pool *pgxpool.Pool, logger *slog.Logger) *SaleHub {
	return newSaleHub(func(ctx context.Context, ids []int64) ([]projections.Sale, error) {
		return projections.GetSales(ctx, pool, ids)
	}, logger)
}

func newSaleHub(read func(context.Context, []int64) ([]projections.Sale, error), logger *slog.Logger) *SaleHub {
	return &SaleHub{logger: logger, read: read, fresh: make(chan struct{}, 1), sales: make(map[int64]*watchedSale)}
}

// Watch subscribes a watcher to a sale, shows it how the sale stands, and returns
// that. The caller must Stop the watch. It returns projections.ErrNotFound for a
// sale that does not exist.
func (h *SaleHub) Watch(ctx context.Context, saleID int64, watcher SaleWatcher) (SaleUpdate, *SaleWatch, error) {
	watch := &SaleWatch{hub: h, saleID: saleID, watcher: watcher}
	h.mu.Lock()
	w, ok := h.sales[saleID]
	if !ok {
		w = &watchedSale{looked: make(chan struct{}), watches: make(map[*SaleWatch]bool)}
		h.sales[saleID] = w
	}
	w.watches[watch] = true
	if w.sale.Revision > 0 {
		defer h.mu.Unlock()
		current := saleUpdate(w.asOf(time.Now()))
		watcher.Show(current)
		return current, watch, nil
	}
	h.mu.Unlock()
	select {
	case h.fresh <- struct{}{}:
	default: // it is about to read
	}

	patience := time.NewTimer(saleHubPatience)
	defer patience.Stop()
	err := errSaleNotRead
	select {
	case <-w.looked:
		h.mu.Lock()
		sale := w.sale
		h.mu.Unlock()
		if sale.Revision > 0 {
			return saleUpdate(sale), watch, nil // it was shown
		}
		err = projections.ErrNotFound
	case <-patience.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	watch.Stop()
	return SaleUpdate{}, nil, err
}

// Stop ends the watch.
func (w *SaleWatch) Stop() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	watched, ok := w.hub.sales[w.saleID]
	if !ok {
		return
	}
	delete(watched.watches, w)
	if len(watched.watches) == 0 {
		delete(w.hub.sales, w.saleID)
	}
}

// Committed implements eventstore.Follower.
func (h *SaleHub) Committed(events []eventstore.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.sales) == 0 {
		return
	}
	for _, event := range events {
		if w, ok := h.sales[event.SaleID]; ok {
			w.changed = true
		}
	}
}

// Connected implements eventstore.Follower: anything may have been missed.
func (h *SaleHub) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.sales {
		w.changed = true
	}
}

// Run reads what has changed and tells the watchers, until the context ends.
func (h *SaleHub) Run(ctx context.Context) {
	tick := time.NewTicker(saleHubTick)
	defer tick.Stop()
	for {
		var ids []int64
		select {
		case <-ctx.Done():
			return
		case <-h.fresh:
			ids = h.due(func(w *watchedSale) bool { return w.sale.Revision == 0 })
		case now := <-tick.C:
			ids = h.due(func(w *watchedSale) bool { return w.due(now) })
		}
		if len(ids) == 0 {
			continue
		}
		readCtx, cancel := context.WithTimeout(ctx, saleHubPatience)
		sales, err := h.read(readCtx, ids)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				h.logger.Warn("could not read the sales that are watched", "count", len(ids), "error", err)
			}
			h.failed(ids)
			continue
		}
		h.tell(ids, sales)
	}
}

// due lists the sales that are to be read. What changes while they are is read again.
func (h *SaleHub) due(isDue func(*watchedSale) bool) []int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	var ids []int64
	now := time.Now()
	for id, w := range h.sales {
		if isDue(w) {
			w.changed, w.askedAt = false, now
			ids = append(ids, id)
		}
	}
	return ids
}

// failed has the sales read again at the next tick.
func (h *SaleHub) failed(ids []int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		if w, ok := h.sales[id]; ok {
			w.changed = true
		}
	}
}

// tell passes on what was read of the sales. The watchers are shown it after the
// lock is released: there may be very many.
func (h *SaleHub) tell(ids []int64, sales []projections.Sale) {
	read := make(map[int64]projections.Sale, len(sales))
	for _, sale := range sales {
		read[sale.ID] = sale
	}
	for _, id := range ids {
		sale, exists := read[id]
		watches := h.learn(id, sale, exists)
		if len(watches) == 0 {
			continue
		}
		update := saleUpdate(sale)
		for _, watch := range watches {
			watch.watcher.Show(update)
		}
	}
}

// learn takes in a sale as it was read, and returns whom to show it.
func (h *SaleHub) learn(id int64, sale projections.Sale, exists bool) []*SaleWatch {
	h.mu.Lock()
	defer h.mu.Unlock()
	w, ok := h.sales[id]
	if !ok {
		return nil // its last watcher has left
	}
	isFirst := w.readAt.IsZero()
	isNews := sale.Revision != w.sale.Revision || sale.Status(sale.ServerTime) != w.status()
	w.sale, w.readAt = sale, time.Now()
	if isFirst {
		defer close(w.looked)
	}
	if !exists {
		delete(h.sales, id)
		return nil
	}
	if !isNews {
		return nil
	}
	return slices.Collect(maps.Keys(w.watches))
}

// due reports whether the sale has changed, by an event or because a time has come,
// or was not looked at for long; but not if it was asked for a moment ago.
func (w *watchedSale) due(now time.Time) bool {
	if now.Sub(w.askedAt) < max(saleHubPace, saleHubShare*time.Duration(len(w.watches))) {
		return false
	}
	if w.changed || now.Sub(w.readAt) >= saleHubRecheck {
		return true
	}
	sale := w.asOf(now)
	return sale.Status(sale.ServerTime) != w.status()
}

// status is the sale's status when it was read.
func (w *watchedSale) status() domain.SaleStatus { return w.sale.Status(w.sale.ServerTime) }

// asOf is the sale at a later moment of this node: the database's clock has moved on
// at least as far as this node's monotonic one.
func (w *watchedSale) asOf(now time.Time) projections.Sale {
	sale := w.sale
	sale.ServerTime = sale.ServerTime.Add(now.Sub(w.readAt))
	return sale
}

func saleUpdate(sale projections.Sale) SaleUpdate {
	data, _ := json.Marshal(saleBody(sale)) // strings, numbers and times always encode
	return SaleUpdate{
		Closed:   sale.Status(sale.ServerTime) == domain.SaleStatusClosed,
		Revision: sale.Revision,
		event: &sse.Event{
			ID:    strconv.AppendInt(nil, sale.Revision, 10),
			Event: []byte("sale"),
			Data:  data,
			Retry: []byte(streamRetry),
		},
	}
}
