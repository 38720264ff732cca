package eventstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"seckill/eventstore"
	"seckill/postgres/postgrestest"
)

// recorder is a follower that keeps what it is told.
type recorder struct {
	committed chan eventstore.Event
	connected chan struct{}
}

func (r *recorder) Committed(events []eventstore.Event) {
	for _, event := range events {
		r.committed <- event
	}
}

func (r *recorder) Connected() { r.connected <- struct{}{} }

func startListener(t *testing.T, pool *pgxpool.Pool, store *eventstore.Store) (*eventstore.Listener, *recorder) {
	t.Helper()
	r := &recorder{committed: make(chan eventstore.Event, 100), connected: make(chan struct{}, 100)}
	listener := eventstore.NewListener(pool, store, r, quiet())
	run(t, listener)
	receive(t, r.connected)
	return listener, r
}

// run runs a listener until stop is called or the test ends.
func run(t *testing.T, listener *eventstore.Listener) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = listener.Run(ctx)
	}()
	stop = func() { cancel(); <-stopped }
	t.Cleanup(stop)
	return stop
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(10 * time.Second):
		t.Fatal("nothing came within 10 s")
		panic("unreachable")
	}
}

func TestListener(t *testing.T) {
	t.Parallel()
	pool := openPool(t, postgrestest.New(t))
	store := eventstore.New()
	listener, heard := startListener(t, pool, store)
	ctx := t.Context()

	t.Run("HearsACommit", func(t *testing.T) {
		stream := requested(1)
		appendAll(ctx, t, pool, store, stream)
		if event := receive(t, heard.committed); event.StreamID != stream.ID {
			t.Errorf("heard of stream %s, want %s", event.StreamID, stream.ID)
		}
	})

	t.Run("DoesNotHearARollback", func(t *testing.T) {
		tx, err := pool.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := appendIn(ctx, tx, store, requested(1)); err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
		stream := requested(1)
		appendAll(ctx, t, pool, store, stream)
		if event := receive(t, heard.committed); event.StreamID != stream.ID {
			t.Errorf("heard of stream %s, want %s", event.StreamID, stream.ID)
		}
	})

	t.Run("Pings", func(t *testing.T) {
		if err := listener.Ping(ctx); err != nil {
			t.Error(err)
		}
	})

	t.Run("IgnoresForeignNotices", func(t *testing.T) {
		if _, err := pool.Exec(ctx, "select pg_notify('seckill_events', 'nonsense')"); err != nil {
			t.Fatal(err)
		}
		stream := requested(1)
		appendAll(ctx, t, pool, store, stream)
		if event := receive(t, heard.committed); event.StreamID != stream.ID {
			t.Errorf("heard of stream %s, want %s", event.StreamID, stream.ID)
		}
	})

	// Whoever follows reads again after each reconnect, because what was committed
	// in between was not heard (FAULTS 20).
	t.Run("ConnectsAgainAndSaysSo", func(t *testing.T) {
		for range 3 {
			terminateListener(ctx, t, pool)
			receive(t, heard.connected)
			stream := requested(1)
			appendAll(ctx, t, pool, store, stream)
			if event := receive(t, heard.committed); event.StreamID != stream.ID {
				t.Errorf("heard of stream %s, want %s", event.StreamID, stream.ID)
			}
		}
	})
}

// Nobody waits for a notice that no connection can hear.
func TestListener_Ping_NotConnected(t *testing.T) {
	t.Parallel()
	pool := openPool(t, postgrestest.New(t))
	listener := eventstore.NewListener(pool, eventstore.New(), &recorder{connected: make(chan struct{}, 1)}, quiet())
	ping := func() error {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := listener.Ping(ctx)
		if ctx.Err() != nil {
			t.Error("it waited")
		}
		return err
	}

	if err := ping(); !errors.Is(err, eventstore.ErrNotListening) {
		t.Errorf("before it has connected: got %v, want ErrNotListening", err)
	}
	stop := run(t, listener)
	for deadline := time.Now().Add(10 * time.Second); ping() != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("connected, it does not hear within 10 s")
		}
	}
	stop()
	if err := ping(); !errors.Is(err, eventstore.ErrNotListening) {
		t.Errorf("after its connection: got %v, want ErrNotListening", err)
	}
}

func terminateListener(ctx context.Context, t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	var terminated int
	err := pool.QueryRow(ctx, `select count(pg_terminate_backend(pid)) from pg_stat_activity
		where datname = current_database() and query like 'listen seckill_events%'`).Scan(&terminated)
	if err != nil {
		t.Fatal(err)
	}
	if terminated != 1 {
		t.Fatalf("terminated %d listeners, want 1", terminated)
	}
}

func TestListener_LeavesNothingBehind(t *testing.T) {
	url := postgrestest.New(t)
	before := goleak.IgnoreCurrent()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{committed: make(chan eventstore.Event, 1), connected: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	listener := eventstore.NewListener(pool, eventstore.New(), r, quiet())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = listener.Run(ctx)
	}()
	receive(t, r.connected)
	cancel()
	receive(t, stopped)
	pool.Close()
	goleak.VerifyNone(t, before)

	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var left int
	if err := conn.QueryRow(t.Context(), "select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()").Scan(&left); err != nil {
		t.Fatal(err)
	}
	if left != 0 {
		t.Errorf("%d connections are left", left)
	}
}
