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

// lock is what a transaction of the test's own keeps from the nodes.
type lock struct {
	connection *pgx.Conn
	service    *service
}

// hold begins a transaction and executes the statement that takes the lock.
func (s *service) hold(t *testing.T, statement string, arguments ...any) *lock {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), s.database.URL())
	if err != nil {
		t.Fatal(err)
	}
	l := &lock{connection: connection, service: s}
	t.Cleanup(l.release)
	if _, err := connection.Exec(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Exec(t.Context(), statement, arguments...); err != nil {
		t.Fatal(err)
	}
	return l
}

// holdSale takes a sale's lock.
func (s *service) holdSale(t *testing.T, saleID int64) *lock {
	t.Helper()
	return s.hold(t, "select from sales where sale_id = $1 for no key update", saleID)
}

// release ends the transaction, and undoes what it has done.
func (l *lock) release() {
	_ = l.connection.Close(context.Background()) // it may be closed already
}

// awaitIntake waits until purchases that a node has taken in wait for the lock.
func (l *lock) awaitIntake(t *testing.T) {
	t.Helper()
	eventually(t, 20*time.Second, "an intake waits for the lock", func() bool {
		var waits bool
		err := l.service.db.QueryRow(t.Context(), `
			select exists (
				select from pg_stat_activity
				where application_name = 'seckill intake' and $1::integer = any(pg_blocking_pids(pid))
			)`, l.connection.PgConn().PID()).Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
		return waits
	})
}

// awaitWorker waits until a worker waits for the lock, with the only job of a sale in
// its hands, and returns its node. The worker has just begun to wait: it goes on for a
// second at least.
func (l *lock) awaitWorker(t *testing.T, saleID int64) *node {
	t.Helper()
	var found *node
	eventually(t, 20*time.Second, "a worker waits for the lock", func() bool {
		var client string
		err := l.service.db.QueryRow(t.Context(), `
			select coalesce(max(attempted_by[array_upper(attempted_by, 1)]), '')
			from river_job
			where state = 'running'
				and (args->>'saleId')::bigint = $1
				and exists (
					select from pg_stat_activity
					where application_name = 'seckill decide'
						and $2::integer = any(pg_blocking_pids(pid))
						and query_start > clock_timestamp() - interval '500 milliseconds'
				)`, saleID, l.connection.PgConn().PID()).Scan(&client)
		if err != nil {
			t.Fatal(err)
		}
		found = l.service.nodeOf(client)
		return found != nil
	})
	return found
}

// nodeOf returns the node whose name in the queue is given, nil if there is none. The
// name is the host, which may contain hyphens, the process ID and chance.
func (s *service) nodeOf(client string) *node {
	parts := strings.Split(client, "-")
	for _, n := range s.nodes {
		if len(parts) > 2 && parts[len(parts)-2] == strconv.Itoa(n.process.Pid) {
			return n
		}
	}
	return nil
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
