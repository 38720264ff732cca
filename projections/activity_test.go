package projections

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
)

// Two nodes add up the log while it grows: every event counts once, also one that
// commits late (FAULTS 21).
func TestKeepActivity(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	ctx, cancel := context.WithCancel(t.Context())
	var nodes sync.WaitGroup
	t.Cleanup(func() { cancel(); nodes.Wait() })
	for range 2 {
		nodes.Go(func() { KeepActivity(ctx, pool, slog.New(slog.DiscardHandler)) })
	}

	const record = `insert into events (stream_id, version, transaction_id, sale_id, type, data, recorded_at)
		select gen_random_uuid(), 1, current_transaction_id(), $1, $2, $3, date_trunc('second', clock_timestamp()) - interval '10 seconds'
		from generate_series(1, $4::int)`
	add := func(db interface {
		Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
	}, sale int64, kind, data string, count int,
	) {
		t.Helper()
		if _, err := db.Exec(t.Context(), record, sale, kind, data, count); err != nil {
			t.Fatal(err)
		}
	}
	late, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	add(late, 1, "PurchaseRequested", "{}", 1)
	for range 20 {
		add(pool, 1, "PurchaseRequested", "{}", 50)
		add(pool, 1, "PurchaseConfirmed", "{}", 3)
		add(pool, 1, "PurchaseRejected", "{}", 47)
		add(pool, 1, "PurchasesTurnedAway", `{"count": 7}`, 2)
		add(pool, 2, "PurchaseRequested", "{}", 1)
		add(pool, 1, "OrderPaid", "{}", 5) // no matter of the chart, but of the figures
		add(pool, 1, "OrderRefunded", "{}", 2)
		time.Sleep(20 * time.Millisecond)
	}
	if err := late.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}

	total := func(sale int64) (sum Activity) {
		seconds, err := GetActivity(t.Context(), pool, sale, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range seconds {
			sum.Requests += s.Requests
			sum.Confirmed += s.Confirmed
			sum.Rejected += s.Rejected
			sum.TurnedAway += s.TurnedAway
		}
		return sum
	}
	want := Activity{Requests: 1001, Confirmed: 60, Rejected: 940, TurnedAway: 280}
	for deadline := time.Now().Add(15 * time.Second); total(1) != want && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(time.Second) // another beat, which must add nothing
	if diff := cmp.Diff(want, total(1)); diff != "" {
		t.Errorf("the activity (-want +got):\n%s", diff)
	}
	rows := pool.QueryRow(t.Context(), `select requests, confirmed, rejected, turned_away, paid, refunded from sale_activity
		where sale_id = 1 and second = '-infinity'`)
	var sum Activity
	var paid, refunded int64
	if err := rows.Scan(&sum.Requests, &sum.Confirmed, &sum.Rejected, &sum.TurnedAway, &paid, &refunded); err != nil {
		t.Fatal(err)
	}
	if sum != want || paid != 100 || refunded != 40 {
		t.Errorf("the sum is %+v, %d paid and %d refunded; want %+v, 100 and 40", sum, paid, refunded, want)
	}
	if got := total(2); got.Requests != 20 {
		t.Errorf("the other sale had %d requests, want 20", got.Requests)
	}
}
