package postgrestest

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestNew(t *testing.T) {
	t.Parallel()

	t.Run("EachTestHasItsOwn", func(t *testing.T) {
		t.Parallel()
		first, second := New(t), New(t)
		query(t, first, "create table marks as select 1")
		if got := query(t, second, "select to_regclass('marks') is null"); !slices.Equal(got, []string{"t"}) {
			t.Error("a table of one database is in the other")
		}
	})

	t.Run("HasTheSchema", func(t *testing.T) {
		t.Parallel()
		if got := query(t, New(t), "select to_regclass('events') is not null"); !slices.Equal(got, []string{"t"}) {
			t.Error("there is no table of events")
		}
	})

	t.Run("IsGoneAfterTheTest", func(t *testing.T) {
		t.Parallel()
		var name string
		t.Run("Test", func(t *testing.T) {
			address := New(t)
			conn, err := pgx.Connect(t.Context(), address) // left open
			if err != nil {
				t.Fatal(err)
			}
			name = conn.Config().Database
		})
		if slices.Contains(databases(t, shared.address.String()), name) {
			t.Errorf("database %s is still there", name)
		}
	})
}

// deadlock makes two sessions lock two rows in different orders.
func deadlock(t *testing.T, address string) {
	t.Helper()
	query(t, address, "create table pairs as select generate_series(1, 2) as id")
	first, second := connect(t, address), connect(t, address)
	lock := func(conn *pgx.Conn, id int) error {
		_, err := conn.Exec(t.Context(), "select from pairs where id = $1 for update", id)
		return err
	}
	for _, conn := range []*pgx.Conn{first, second} {
		if _, err := conn.Exec(t.Context(), "begin"); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(lock(first, 1), lock(second, 2)); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() {
		err := lock(first, 2)
		_, rollbackErr := first.Exec(context.Background(), "rollback")
		waiting <- errors.Join(err, rollbackErr)
	}()
	err := lock(second, 1)
	_, rollbackErr := second.Exec(t.Context(), "rollback")
	if err := errors.Join(err, rollbackErr, <-waiting); err == nil {
		t.Fatal("no deadlock")
	}
}

// makeDeadlock is the variable in the environment that lets TestDeadlock make one.
const makeDeadlock = "SECKILL_TEST_DEADLOCK"

// TestDeadlock is run by TestMainProgram, which wants it to make the run fail.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	if os.Getenv(makeDeadlock) == "" {
		t.Skip("not asked for")
	}
	deadlock(t, New(t))
}

func TestMainProgram(t *testing.T) {
	t.Parallel()

	t.Run("FailsAfterADeadlock", func(t *testing.T) {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDeadlock$", "-test.v")
		cmd.Env = append(os.Environ(), makeDeadlock+"=1")
		output, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(output), "--- PASS: TestDeadlock") || !strings.Contains(string(output), "1 deadlocks") {
			t.Errorf("%v:\n%s", err, output)
		}
	})

	t.Run("UsesAServerThatIsThere", func(t *testing.T) {
		t.Parallel()
		server := Server(t, "fsync=off")
		before := databases(t, server.URL())
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNew$/^HasTheSchema$", "-test.v")
		cmd.Env = append(os.Environ(), "SECKILL_TEST_DATABASE_URL="+server.URL())
		if output, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(output), "--- PASS: TestNew/HasTheSchema") {
			t.Errorf("%v:\n%s", err, output)
		}
		if after := databases(t, server.URL()); !slices.Equal(after, before) {
			t.Errorf("databases before: %q, after: %q", before, after)
		}
	})

	t.Run("SaysThatThereIsNoServer", func(t *testing.T) {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), "SECKILL_TEST_DATABASE_URL=postgres:///none?host=/nowhere")
		output, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(output), "no Postgres for the tests") {
			t.Errorf("%v:\n%s", err, output)
		}
	})

	t.Run("LeavesNothingWhenKilled", func(t *testing.T) {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), hangEnv+"=1")
		cmd.Stderr = os.Stderr
		output, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(output).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		dir := strings.TrimSpace(line)
		if found, err := filepath.Glob(filepath.Join(dir, "*", "run", ".s.PGSQL.5432")); err != nil || len(found) != 1 {
			t.Fatalf("no server runs in %s: %v", dir, err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Error("the program was not killed")
		}
		within(t, 20*time.Second, "the directory is removed", func() bool {
			_, err := os.Stat(dir)
			return errors.Is(err, fs.ErrNotExist)
		})
	})
}

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// query returns the first column of a query's rows as text.
func query(t *testing.T, address, statement string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), statement, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var texts []string
	for rows.Next() {
		texts = append(texts, string(rows.RawValues()[0]))
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return texts
}

func databases(t *testing.T, address string) []string {
	t.Helper()
	return query(t, address, "select datname from pg_database order by datname")
}

// within waits for what becomes true by itself.
func within(t *testing.T, patience time.Duration, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("not within %s: %s", patience, what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
