package projections

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/domain"
	"seckill/eventstore"
)

func partitions(t *testing.T, pool *pgxpool.Pool) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), "select inhrelid::regclass::text from pg_inherits where inhparent = 'purchase_results'::regclass order by 1")
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// requestAt is a request ID as a node makes it whose clock shows that moment.
func requestAt(moment time.Time) uuid.UUID {
	id := uuid.Must(uuid.NewV7())
	var millis [8]byte
	binary.BigEndian.PutUint64(millis[:], uint64(moment.UnixMilli()))
	copy(id[:6], millis[2:])
	return id
}

func partitionOf(t *testing.T, pool *pgxpool.Pool, id uuid.UUID) string {
	t.Helper()
	var name string
	if err := pool.QueryRow(t.Context(), "select tableoid::regclass::text from purchase_results where request_id = $1", id).Scan(&name); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestKeepResults(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	store := eventstore.New(Results{Retention: ResultsRetention})
	ctx := t.Context()
	const byDefault = "purchase_results_default"

	for range 2 { // a second call changes nothing
		if err := keepResults(ctx, pool, ResultsRetention); err != nil {
			t.Fatal(err)
		}
		if got := partitions(t, pool); len(got) != 4 || !slices.Contains(got, byDefault) {
			t.Fatalf("the partitions are %v, want three periods and the default", got)
		}
	}

	now, wrongClock := requestAt(time.Now()), requestAt(time.Now().Add(48*time.Hour))
	decide(t, pool, store, now, domain.PurchaseRejected{Reason: domain.ReasonSoldOut})
	decide(t, pool, store, wrongClock, domain.PurchaseRejected{Reason: domain.ReasonSoldOut})
	if got := partitionOf(t, pool, now); got == byDefault {
		t.Errorf("a result of now is in %s", got)
	}
	if got := partitionOf(t, pool, wrongClock); got != byDefault {
		t.Errorf("a result of a wrong clock is in %s", got)
	}

	// An old period is dropped whole. What a wrong clock brought goes by the time of its decision.
	if _, err := pool.Exec(ctx, `create table purchase_results_202001010000 partition of purchase_results
		for values from (uuid_at('2020-01-01 00:00Z')) to (uuid_at('2020-01-01 00:10Z'))`); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(ctx, "update purchase_results_default set decided_at = now() - interval '31 minutes'"); err != nil {
		t.Fatal(err)
	}
	if err := keepResults(ctx, pool, ResultsRetention); err != nil {
		t.Fatal(err)
	}
	if got := partitions(t, pool); slices.Contains(got, "purchase_results_202001010000") || len(got) != 4 {
		t.Errorf("the partitions are %v: the old one should be gone", got)
	}
	purchase, err := NewPurchases(store).Get(ctx, pool, wrongClock)
	if err != nil || purchase.Reason != domain.ReasonSoldOut {
		t.Errorf("got %+v and %v: a result without a row is folded from its stream", purchase, err)
	}
	var left int
	if err := pool.QueryRow(ctx, "select count(*) from purchase_results_default").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d rows are left in the default partition (%v)", left, err)
	}
}

// A long report must not stop deciding: the drop gives up its lock at once.
func TestKeepResults_BesideALongReport(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	ctx := t.Context()
	if _, err := pool.Exec(ctx, `create table purchase_results_202001010000 partition of purchase_results
		for values from (uuid_at('2020-01-01 00:00Z')) to (uuid_at('2020-01-01 00:10Z'))`); err != nil {
		t.Fatal(err)
	}
	report, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := report.Exec(ctx, "select count(*) from purchase_results"); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := keepResults(ctx, pool, ResultsRetention); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %s beside a report", took)
	}
	if err := report.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if err := keepResults(ctx, pool, ResultsRetention); err != nil {
		t.Fatal(err)
	}
	if got := partitions(t, pool); slices.Contains(got, "purchase_results_202001010000") {
		t.Errorf("the partitions are %v: the old one should be gone by now", got)
	}
}

// Where results are kept for longer, a period that is over by default stays; the row
// of an older result is not brought back, and the stream answers for it.
func TestKeepResults_Retention(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	ctx := t.Context()
	period := time.Now().Add(-time.Hour).UTC().Truncate(10 * time.Minute)
	if _, err := pool.Exec(ctx, fmt.Sprintf(`create table purchase_results_%s partition of purchase_results
		for values from (uuid_at('%[2]s')) to (uuid_at('%[2]s'::timestamptz + interval '10 minutes'))`,
		period.Format("200601021504"), period.Format(time.RFC3339))); err != nil {
		t.Fatal(err)
	}
	kept := len(partitions(t, pool))
	if err := keepResults(ctx, pool, 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	if got := len(partitions(t, pool)); got < kept {
		t.Errorf("%d partitions are left of %d", got, kept)
	}
	if err := keepResults(ctx, pool, MinResultsRetention); err != nil {
		t.Fatal(err)
	}
	if got := partitions(t, pool); len(got) != 4 {
		t.Errorf("the partitions are %v, want three periods and the default", got)
	}

	store := eventstore.New(Results{Retention: time.Nanosecond}) // so every result is an old one
	id := requestAt(time.Now())
	decide(t, pool, store, id, domain.PurchaseRejected{Reason: domain.ReasonSoldOut})
	var rows int
	if err := pool.QueryRow(ctx, "select count(*) from purchase_results where request_id = $1", id).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("an old result has %d rows (%v)", rows, err)
	}
	if purchase, err := NewPurchases(store).Get(ctx, pool, id); err != nil || purchase.Reason != domain.ReasonSoldOut {
		t.Errorf("got %+v and %v from the stream", purchase, err)
	}
}
