package http

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/projections"
)

const (
	hubShards = 16
	// hubMemory is how many purchases the hub remembers, waited for or not: at
	// about 500 bytes each some 30 MB.
	hubMemory = 65_536
	// hubRecheck is how often the hub looks for what it waits for and was not told.
	hubRecheck = time.Second
	// hubFresh is how long a purchase that was seen undecided is taken for it
	// without another look.
	hubFresh = time.Second
)

// Hub tells whoever waits for a purchase what became of it, the moment that is
// committed, on whatever node. It also remembers the latest purchases, so that
// most waits and polls do not touch the database.
//
// What it hears is a hint. A waiter subscribes, then looks, then waits; and every
// second, and after every reconnect, the hub looks for all that are waited for by
// one query.
type Hub struct {
	logger    *slog.Logger
	metrics   *Metrics
	pool      *pgxpool.Pool
	purchases *projections.Purchases
	recheck   chan struct{}
	shards    [hubShards]hubShard
}

type hubShard struct {
	mu      sync.Mutex
	entries map[uuid.UUID]*hubEntry
	latest  []uuid.UUID // ring: which to forget next
	next    int
}

// hubEntry is what the hub knows of one request. When the outcome is heard before
// anything else is known (it was accepted by another node, or the acceptance is
// just being told), the event waits here for the rest.
type hubEntry struct {
	purchase   projections.Purchase // zero Version: not known
	outcome    *eventstore.Event
	acceptedAt time.Time // by this node's clock; zero if another node accepted it
	seenAt     time.Time
	waiters    []*Watch
}

// Waiter is told of a purchase, by whatever means its client has.
type Waiter interface {
	// Tell is called once, when the purchase is decided. It must not block: others
	// wait too.
	Tell(purchase projections.Purchase)
}

// Mailbox is a Waiter with room for what it is told: make(Mailbox, 1).
type Mailbox chan projections.Purchase

// Tell implements Waiter.
func (m Mailbox) Tell(purchase projections.Purchase) { m <- purchase }

// Watch is a waiter that waits for one purchase to be decided.
type Watch struct {
	id     uuid.UUID
	shard  *hubShard
	waiter Waiter
}

// NewHub returns a hub that reads through the pool. Run keeps it right.
func NewHub(pool *pgxpool.Pool, purchases *projections.Purchases, metrics *Metrics, logger *slog.Logger) *Hub {
	h := &Hub{logger: logger, metrics: metrics, pool: pool, purchases: purchases, recheck: make(chan struct{}, 1)}
	for i := range h.shards {
		h.shards[i].entries = make(map[uuid.UUID]*hubEntry)
		h.shards[i].latest = make([]uuid.UUID, hubMemory/hubShards)
	}
	return h
}

// Accepted tells the hub of a purchase that this node has just accepted.
func (h *Hub) Accepted(p projections.Purchase) {
	shard := h.shard(p.RequestID)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	e := shard.entry(p.RequestID)
	e.acceptedAt = time.Now()
	e.learn(p)
}

// seen takes in a purchase as it was read.
func (h *Hub) seen(p projections.Purchase) {
	shard := h.shard(p.RequestID)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	shard.entry(p.RequestID).learn(p)
}

// Get returns a purchase as it stands. It returns projections.ErrNotFound for a
// request that was never accepted.
func (h *Hub) Get(ctx context.Context, id uuid.UUID) (projections.Purchase, error) {
	shard := h.shard(id)
	shard.mu.Lock()
	if e, ok := shard.entries[id]; ok && e.usable(time.Now()) {
		defer shard.mu.Unlock()
		return e.purchase, nil
	}
	shard.mu.Unlock()
	return h.load(ctx, id)
}

// Watch subscribes a waiter to a purchase and returns it as it stands. If it is
// decided already the watch is nil, and the waiter may have been told; else the
// caller must Stop it. It returns projections.ErrNotFound for a request that was
// never accepted.
func (h *Hub) Watch(ctx context.Context, id uuid.UUID, waiter Waiter) (projections.Purchase, *Watch, error) {
	shard := h.shard(id)
	watch := &Watch{id: id, shard: shard, waiter: waiter}

	shard.mu.Lock()
	e := shard.entry(id)
	if e.purchase.Version > 0 && e.purchase.Decided() {
		defer shard.mu.Unlock()
		return e.purchase, nil, nil
	}
	e.waiters = append(e.waiters, watch)
	if e.usable(time.Now()) {
		defer shard.mu.Unlock()
		return e.purchase, watch, nil
	}
	shard.mu.Unlock()

	purchase, err := h.load(ctx, id)
	if err != nil {
		watch.Stop()
		return projections.Purchase{}, nil, err
	}
	if purchase.Decided() {
		watch.Stop()
		return purchase, nil, nil
	}
	return purchase, watch, nil
}

// load reads a purchase from the database and remembers it.
func (h *Hub) load(ctx context.Context, id uuid.UUID) (projections.Purchase, error) {
	purchase, err := h.purchases.Get(ctx, h.pool, id)
	if err != nil {
		return projections.Purchase{}, err
	}
	shard := h.shard(id)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	e := shard.entry(id)
	e.learn(purchase)
	return e.purchase, nil
}

// Stop ends the wait. Whoever is not waited for any more may be forgotten.
func (w *Watch) Stop() {
	w.shard.mu.Lock()
	defer w.shard.mu.Unlock()
	e, ok := w.shard.entries[w.id]
	if !ok {
		return
	}
	for i, waiter := range e.waiters {
		if waiter == w {
			e.waiters = append(e.waiters[:i], e.waiters[i+1:]...)
			break
		}
	}
	if len(e.waiters) == 0 && e.purchase.Version == 0 && e.outcome == nil {
		delete(w.shard.entries, w.id) // a request that does not exist
	}
}

// Committed implements eventstore.Follower.
func (h *Hub) Committed(events []eventstore.Event) {
	for _, event := range events {
		if event.Version == 1 || !isOutcome(event.Data) {
			continue
		}
		shard := h.shard(event.StreamID)
		shard.mu.Lock()
		e := shard.entry(event.StreamID)
		if e.purchase.Version == 0 {
			e.outcome = &event
		} else {
			e.purchase.Apply(event)
			e.tell()
			if !e.acceptedAt.IsZero() {
				h.metrics.told.Observe(time.Since(e.acceptedAt).Seconds())
			}
		}
		shard.mu.Unlock()
	}
}

func isOutcome(data domain.Event) bool {
	switch data.(type) {
	case domain.PurchaseConfirmed, domain.PurchaseRejected:
		return true
	default:
		return false
	}
}

// Connected implements eventstore.Follower: what was committed while nobody
// listened is looked for now.
func (h *Hub) Connected() {
	select {
	case h.recheck <- struct{}{}:
	default: // it is about to
	}
}

// Run looks every second for the purchases that are waited for, by one query
// however many they are, until the context ends.
func (h *Hub) Run(ctx context.Context) {
	tick := time.NewTicker(hubRecheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-h.recheck:
		}
		ids := h.waitedFor()
		if len(ids) == 0 {
			continue
		}
		start := time.Now()
		decided, err := h.purchases.Decided(ctx, h.pool, ids)
		h.metrics.recheck.Observe(time.Since(start).Seconds())
		if err != nil {
			if ctx.Err() == nil {
				h.logger.Warn("could not look for waited-for purchases", "count", len(ids), "error", err)
			}
			continue
		}
		for _, purchase := range decided {
			h.seen(purchase)
		}
	}
}

func (h *Hub) waitedFor() []uuid.UUID {
	var ids []uuid.UUID
	for i := range h.shards {
		shard := &h.shards[i]
		shard.mu.Lock()
		for id, e := range shard.entries {
			if len(e.waiters) > 0 {
				ids = append(ids, id)
			}
		}
		shard.mu.Unlock()
	}
	return ids
}

func (h *Hub) shard(id uuid.UUID) *hubShard { return &h.shards[id[15]%hubShards] }

// entry finds or makes what is known of a request, and forgets the oldest that
// nobody waits for when there are too many.
func (s *hubShard) entry(id uuid.UUID) *hubEntry {
	if e, ok := s.entries[id]; ok {
		return e
	}
	s.remember(id)
	e := &hubEntry{}
	s.entries[id] = e
	return e
}

// remember gives the request the place of the oldest that nobody waits for, or a
// new place when all are waited for.
func (s *hubShard) remember(id uuid.UUID) {
	for range s.latest {
		place := &s.latest[s.next]
		s.next = (s.next + 1) % len(s.latest)
		oldest, ok := s.entries[*place]
		if !ok || len(oldest.waiters) == 0 {
			delete(s.entries, *place)
			*place = id
			return
		}
	}
	s.latest = append(s.latest, id)
}

// usable reports whether what is known can be told without another look.
func (e *hubEntry) usable(now time.Time) bool {
	return e.purchase.Version > 0 && (e.purchase.Decided() || now.Sub(e.seenAt) < hubFresh)
}

// learn takes in a purchase as it was read; older never overwrites newer.
func (e *hubEntry) learn(p projections.Purchase) {
	e.seenAt = time.Now()
	if p.Version > e.purchase.Version {
		e.purchase = p
	}
	if e.outcome != nil {
		e.purchase.Apply(*e.outcome)
		e.outcome = nil
	}
	e.tell()
}

// tell tells the waiters of a decided purchase, each of them once.
func (e *hubEntry) tell() {
	if !e.purchase.Decided() {
		return
	}
	for _, watch := range e.waiters {
		watch.waiter.Tell(e.purchase)
	}
	e.waiters = nil
}
