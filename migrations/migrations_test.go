package migrations_test

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/migrations"
	"seckill/postgres/postgrestest"
	"seckill/queries"
)

func connect(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func scalar[T any](t *testing.T, pool *pgxpool.Pool, sql string) T {
	t.Helper()
	var value T
	if err := pool.QueryRow(t.Context(), sql).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestUp(t *testing.T) {
	t.Parallel()

	t.Run("ManyNodesAtOnce", func(t *testing.T) {
		t.Parallel()
		url := postgrestest.Server(t).URL()
		var nodes sync.WaitGroup
		for range 5 {
			nodes.Go(func() {
				if err := migrations.Up(t.Context(), url); err != nil {
					t.Error(err)
				}
			})
		}
		nodes.Wait()
	})

	t.Run("NewerSchema", func(t *testing.T) {
		t.Parallel()
		url := postgrestest.New(t)
		pool := connect(t, url)
		if _, err := pool.Exec(t.Context(), "insert into goose_db_version (version_id, is_applied) values (99999, true)"); err != nil {
			t.Fatal(err)
		}
		if err := migrations.Up(t.Context(), url); !errors.Is(err, migrations.ErrNewerSchema) {
			t.Errorf("got %v, want ErrNewerSchema", err)
		}
	})
}

// A dump restored into a cluster whose transaction IDs start low must not put new
// events before old ones.
func TestUp_RestoredDump(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	old := postgrestest.Server(t)
	if err := migrations.Up(ctx, old.URL()); err != nil {
		t.Fatal(err)
	}
	oldPool := connect(t, old.URL())
	// The old cluster has used many more transaction IDs than the new one.
	if _, err := oldPool.Exec(ctx, "do $$ begin for i in 1..20000 loop perform pg_current_xact_id(); commit; end loop; end $$"); err != nil {
		t.Fatal(err)
	}
	before := appendOne(t, oldPool)

	fresh := postgrestest.Server(t)
	dump := old.Command("pg_dump", "--no-owner", "--dbname", old.URL())
	var sql, complaints bytes.Buffer
	dump.Stdout, dump.Stderr = &sql, &complaints
	if err := dump.Run(); err != nil {
		t.Fatalf("dump: %v\n%s", err, complaints.String())
	}
	restore := fresh.Command("psql", "--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", fresh.URL())
	restore.Stdin, restore.Stderr = &sql, &complaints
	// The dump grants to roles of the old cluster.
	freshPool := connect(t, fresh.URL())
	if _, err := freshPool.Exec(ctx, "create role seckill_reporting login; create role seckill_service nologin"); err != nil {
		t.Fatal(err)
	}
	if err := restore.Run(); err != nil {
		t.Fatalf("restore: %v\n%s", err, complaints.String())
	}

	if raw := scalar[int64](t, freshPool, "select pg_current_xact_id()::text::bigint"); raw > before.TransactionID {
		t.Fatalf("the new cluster's transaction ID %d is already above %d: the test shows nothing", raw, before.TransactionID)
	}
	for range 2 { // the second start changes nothing
		if err := migrations.Up(ctx, fresh.URL()); err != nil {
			t.Fatal(err)
		}
	}
	after := appendOne(t, freshPool)
	if after.TransactionID <= before.TransactionID {
		t.Errorf("the new event has transaction ID %d, the old one %d", after.TransactionID, before.TransactionID)
	}
	if gap := after.TransactionID - before.TransactionID; gap > 1000 {
		t.Errorf("the offset was raised by %d more than needed", gap)
	}
	events, err := eventstore.New().ReadLog(ctx, freshPool, eventstore.Cursor{TransactionID: before.TransactionID}, 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 2 || events[1].TransactionID != after.TransactionID {
		t.Errorf("a reader that goes on in the restored log finds %d events", len(events))
	}
}

func appendOne(t *testing.T, pool *pgxpool.Pool) eventstore.Appended {
	t.Helper()
	store := eventstore.New()
	stream := eventstore.NewStream(uuid.New(), 1)
	stream.Record(domain.PurchaseRequested{UserID: "42", Quantity: 1}, nil)
	var appended eventstore.Appended
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		var err error
		var writes queries.Pipeline
		appended, err = store.Append(t.Context(), tx, &writes, stream)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return appended
}

// The stub of River's table that sqlc reads must be as the table that River makes.
func TestRiverStub(t *testing.T) {
	t.Parallel()
	pool := connect(t, postgrestest.New(t))
	stub, err := os.ReadFile("../queries/stub/river.sql")
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`(?s)create table river_job \((.*?)\n\);`).FindSubmatch(stub)
	if table == nil {
		t.Fatal("the stub has no table river_job")
	}
	lines := strings.Split(strings.TrimSpace(string(table[1])), "\n")
	if len(lines) < 5 {
		t.Fatalf("the stub has %d columns", len(lines))
	}
	for _, line := range lines {
		words := strings.Fields(strings.TrimSuffix(strings.TrimSpace(line), ","))
		name, typ := words[0], words[1]
		notNull := strings.Contains(line, "not null") || strings.Contains(line, "primary key")
		var gotType string
		var gotNotNull bool
		err := pool.QueryRow(t.Context(), `select format_type(atttypid, atttypmod), attnotnull from pg_attribute
			where attrelid = 'river_job'::regclass and attname = $1`, name).Scan(&gotType, &gotNotNull)
		if err != nil {
			t.Errorf("column %s: %v", name, err)
			continue
		}
		if strings.Replace(gotType, "timestamp with time zone", "timestamptz", 1) != typ || gotNotNull != notNull {
			t.Errorf("column %s is %s (not null: %t), the stub says %s (not null: %t)", name, gotType, gotNotNull, typ, notNull)
		}
	}
	states := scalar[string](t, pool, "select string_agg(enumlabel, ', ' order by enumlabel) from pg_enum where enumtypid = 'river_job_state'::regtype")
	inStub := regexp.MustCompile(`(?s)enum \((.*?)\);`).FindSubmatch(stub)
	if got := strings.NewReplacer("'", "", "\n", "").Replace(strings.TrimSpace(string(inStub[1]))); got != states {
		t.Errorf("River has the states %s, the stub says %s", states, got)
	}
}
