package eventstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	committedChannel = "seckill_events"
	pingChannel      = "seckill_ping"

	// quietLimit is how long the connection may be silent before it is tested: a
	// connection that a firewall forgot is silent as well.
	quietLimit   = 5 * time.Second
	testTimeout  = 2 * time.Second
	reconnectMin = 50 * time.Millisecond
	reconnectMax = time.Second
)

// Follower is told what a Listener hears. Its methods are called one at a time
// and must not block for long.
type Follower interface {
	// Committed is called with the events that other transactions appended, soon
	// after each committed; in the global order within a call.
	Committed(events []Event)
	// Connected is called each time the listener has begun to listen. What was
	// committed before may have been missed, so the follower reads again whatever
	// it waits for.
	Connected()
}

// Followers are told one after the other.
type Followers []Follower

// Committed implements Follower.
func (f Followers) Committed(events []Event) {
	for _, follower := range f {
		follower.Committed(events)
	}
}

// Connected implements Follower.
func (f Followers) Connected() {
	for _, follower := range f {
		follower.Connected()
	}
}

// Listener hears of commits through LISTEN on a connection of its own, which
// must be direct or session-pooled. A notice is a hint that can be lost; whoever
// relies on it also looks for himself, at Connected and from time to time.
type Listener struct {
	config   *pgx.ConnConfig
	follower Follower
	logger   *slog.Logger
	pool     *pgxpool.Pool
	store    *Store

	listening atomic.Bool // there is a connection that hears

	mu       sync.Mutex
	heard    []int64       // transactions to read
	heardAt  time.Time     // when the first of them was heard
	wake     chan struct{} // there is something in heard
	pings    map[string]chan struct{}
	relisten bool // a connection was made: tell the follower before anything else
}

// NewListener returns a listener that connects like the pool, reads events
// through it and tells the follower. Nothing happens before Run.
func NewListener(pool *pgxpool.Pool, store *Store, follower Follower, logger *slog.Logger) *Listener {
	return &Listener{
		config:   pool.Config().ConnConfig,
		follower: follower,
		logger:   logger,
		pool:     pool,
		store:    store,
		wake:     make(chan struct{}, 1),
		pings:    make(map[string]chan struct{}),
	}
}

// Run listens until the context ends, and connects again whenever the connection
// is lost. It returns the context's error.
func (l *Listener) Run(ctx context.Context) error {
	var tellers sync.WaitGroup
	tellers.Go(func() { l.tell(ctx) })
	defer tellers.Wait()

	delay := reconnectMin
	for ctx.Err() == nil {
		connectedAt := time.Now()
		err := l.listen(ctx)
		if ctx.Err() != nil {
			break
		}
		if time.Since(connectedAt) > quietLimit {
			delay = reconnectMin
		}
		l.logger.Warn("lost the connection that listens for commits", "error", err, "retry_in", delay)
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		}
		delay = min(2*delay, reconnectMax)
	}
	return ctx.Err()
}

// listen receives notices on one connection until it fails.
func (l *Listener) listen(ctx context.Context) error {
	connectCtx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(connectCtx, l.config)
	if err != nil {
		return err
	}
	defer func() {
		closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), testTimeout)
		defer cancel()
		_ = conn.Close(closeCtx) // it is given up either way
	}()
	if _, err := conn.Exec(connectCtx, "listen "+committedChannel+"; listen "+pingChannel); err != nil {
		return err
	}
	l.listening.Store(true)
	defer l.listening.Store(false)
	l.enqueue(func() { l.relisten = true })

	for {
		waitCtx, cancel := context.WithTimeout(ctx, quietLimit)
		notice, err := conn.WaitForNotification(waitCtx)
		cancel()
		switch {
		case err == nil:
			l.hear(notice)
		case ctx.Err() != nil:
			return ctx.Err()
		case pgconn.Timeout(err):
			if err := l.test(ctx, conn); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func (l *Listener) test(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	return conn.Ping(ctx)
}

func (l *Listener) hear(notice *pgconn.Notification) {
	switch notice.Channel {
	case committedChannel:
		id, err := strconv.ParseInt(notice.Payload, 10, 64)
		if err != nil {
			l.logger.Warn("ignored a notice that is not ours", "channel", notice.Channel)
			return
		}
		l.enqueue(func() {
			if len(l.heard) == 0 {
				l.heardAt = time.Now()
			}
			l.heard = append(l.heard, id)
		})
	case pingChannel:
		l.mu.Lock()
		defer l.mu.Unlock()
		if waiting, ok := l.pings[notice.Payload]; ok {
			close(waiting)
			delete(l.pings, notice.Payload)
		}
	}
}

func (l *Listener) enqueue(change func()) {
	l.mu.Lock()
	change()
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default: // tell is awake and will see the change
	}
}

// tell reads what was heard and passes it on. Whatever was heard while it was
// busy is read by one query.
func (l *Listener) tell(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		}
		l.mu.Lock()
		heard, relisten := l.heard, l.relisten
		l.heard, l.relisten = nil, false
		l.mu.Unlock()

		if relisten {
			l.follower.Connected()
		}
		if len(heard) == 0 {
			continue
		}
		events, err := l.store.ReadTransactions(ctx, l.pool, heard)
		if err != nil {
			// The follower looks for itself: what could not be read now is late, not lost.
			if ctx.Err() == nil {
				l.logger.Warn("could not read what was committed", "transactions", len(heard), "error", err)
			}
			continue
		}
		l.follower.Committed(events)
	}
}

// Listening reports whether there is a connection that hears of commits.
func (l *Listener) Listening() bool { return l.listening.Load() }

// Lag returns for how long the first commit that was heard and not yet read has
// waited, or 0.
func (l *Listener) Lag() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.heard) == 0 {
		return 0
	}
	return time.Since(l.heardAt)
}

// ErrNotListening is returned by Ping when no notice comes back.
var ErrNotListening = errors.New("the listener does not hear")

// Ping sends a notice through the database and waits until the listener hears
// it. It returns ErrNotListening if that does not happen before the context ends,
// and at once while there is no connection that could hear it.
func (l *Listener) Ping(ctx context.Context) error {
	if !l.listening.Load() {
		return ErrNotListening
	}
	token := rand.Text()
	heard := make(chan struct{})
	l.mu.Lock()
	l.pings[token] = heard
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.pings, token)
		l.mu.Unlock()
	}()

	if _, err := l.pool.Exec(ctx, "select pg_notify($1, $2)", pingChannel, token); err != nil {
		return fmt.Errorf("send a notice: %w", err)
	}
	select {
	case <-heard:
		return nil
	case <-ctx.Done():
		return ErrNotListening
	}
}
