package acceptance_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// begin opens a transaction on a connection of the test's own, executes a
// statement in it, and returns what ends both.
func (s *service) begin(t *testing.T, statement string, arguments ...any) (end func()) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), s.database.URL())
	if err != nil {
		t.Fatal(err)
	}
	end = func() { _ = connection.Close(context.Background()) } // it may be closed already
	t.Cleanup(end)
	if _, err := connection.Exec(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Exec(t.Context(), statement, arguments...); err != nil {
		t.Fatal(err)
	}
	return end
}

// worker returns the node whose worker runs the sale's only job and has just begun
// to wait for a lock, nil if there is none. Such a node goes on waiting for a
// second at least.
func (s *service) worker(t *testing.T, saleID int64) *node {
	t.Helper()
	var client string
	err := s.db.QueryRow(t.Context(), `
		select coalesce(max(attempted_by[array_upper(attempted_by, 1)]), '') from river_job
		where state = 'running'
			and (args->>'saleId')::bigint = $1
			and exists (
				select from pg_stat_activity
				where datname = current_database()
					and application_name = 'seckill decide'
					and wait_event_type = 'Lock'
					and query_start > clock_timestamp() - interval '500 milliseconds'
			)`, saleID).Scan(&client)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(client, "-") // host, which may have more of them, process ID, and chance
	for _, n := range s.nodes {
		if len(parts) > 2 && parts[len(parts)-2] == strconv.Itoa(n.process.Pid) {
			return n
		}
	}
	return nil
}

// awaitWorker waits until a node's worker waits for a lock, with the sale's only
// job in its hands.
func (s *service) awaitWorker(t *testing.T, saleID int64) *node {
	t.Helper()
	var found *node
	eventually(t, 10*time.Second, "a worker waits for a lock", func() bool {
		found = s.worker(t, saleID)
		return found != nil
	})
	return found
}

// awaitWaitingIntake waits until a node that has taken purchases in waits for a lock.
func (s *service) awaitWaitingIntake(t *testing.T) {
	t.Helper()
	eventually(t, 10*time.Second, "an intake waits for a lock", func() bool {
		var waits bool
		err := s.db.QueryRow(t.Context(), `
			select exists (
				select from pg_stat_activity
				where datname = current_database()
					and application_name = 'seckill intake'
					and wait_event_type = 'Lock'
			)`).Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
		return waits
	})
}

// isLocked reports whether somebody holds a sale's lock.
func (s *service) isLocked(t *testing.T, saleID int64) bool {
	t.Helper()
	_, err := s.db.Exec(t.Context(), "select from sales where sale_id = $1 for no key update nowait", saleID)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == "55P03" { // lock_not_available
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	return false
}
