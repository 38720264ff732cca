package acceptance_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// rebuildCommand is the program's rebuild of a service's database.
func (s *service) rebuildCommand(ctx context.Context, t *testing.T, models ...string) (command *exec.Cmd, output *bytes.Buffer) {
	t.Helper()
	output = new(bytes.Buffer)
	command = exec.CommandContext(ctx, programPath(t), append([]string{"rebuild"}, models...)...)
	command.Env = append(os.Environ(), "DATABASE_URL="+byRole(t, s.database.URL(), "shop"))
	command.Stdout, command.Stderr = output, output
	return command, output
}

// rebuild runs the rebuild. It must end well.
func (s *service) rebuild(t *testing.T, models ...string) string {
	t.Helper()
	command, output := s.rebuildCommand(t.Context(), t, models...)
	if err := command.Run(); err != nil {
		t.Fatalf("rebuild %v: %v\n%s", models, err, output)
	}
	return output.String()
}

// rebuildFails runs the rebuild, which must exit with 1 and say why.
func (s *service) rebuildFails(t *testing.T, why string, models ...string) {
	t.Helper()
	command, output := s.rebuildCommand(t.Context(), t, models...)
	err := command.Run()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(output.String(), why) {
		t.Errorf("rebuild %v ended with %v and printed %q, want exit code 1 and %q", models, err, output, why)
	}
}

// TestRebuild rebuilds beside two nodes that sell, is killed half-way, refuses a second
// of its kind, and starts again. The nodes run on through all of it.
func TestRebuild(t *testing.T) {
	s := startService(t, 2)
	if printed := s.rebuild(t); strings.Count(printed, "done") != 3 { // of an empty store
		t.Errorf("the rebuild printed %q", printed)
	}
	// Buyers of the sale that is on are told what the rows say: the damage is to another.
	quiet := s.schedule(t, plan{Stock: 9, PerUserLimit: 1})
	for _, user := range []string{"first", "second", "third"} {
		s.awaitResult(t, s.nodes[1], s.accept(t, s.nodes[0], order{sale: quiet, user: user, quantity: 1}).RequestID)
	}
	sale := s.schedule(t, plan{Stock: 400, PerUserLimit: 2})
	crowd := s.send(t, population(s.nodes, demand{sale: sale, purchases: 700, users: 500, maxQuantity: 2}), 8*time.Second)
	crowd.await(t, 0.3)
	s.rebuild(t, "orders")

	// It cannot repair the order whose purchase is locked: it is half-way there.
	var locked string
	if err := s.db.QueryRow(t.Context(), "select request_id::text from orders where sale_id = $1 order by created_at limit 1", quiet).Scan(&locked); err != nil {
		t.Fatal(err)
	}
	lock := s.hold(t, "select pg_advisory_xact_lock(3554, uuid_hash($1::uuid))", locked)
	s.byHand(t, "update orders set version = 99, user_id = 'thief' where sale_id = %[1]d", quiet)
	command, output := s.rebuildCommand(t.Context(), t)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	wrong := func() (n int) {
		if err := s.db.QueryRow(t.Context(), "select count(*) from orders where user_id = 'thief'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	eventually(t, 20*time.Second, "all orders but one are repaired", func() bool { return wrong() == 1 })
	s.rebuildFails(t, "another rebuild is running")
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err == nil {
		t.Errorf("the rebuild was not killed; it printed %q", output)
	}
	lock.release()
	t.Log(s.rebuild(t))
	if n := wrong(); n != 0 {
		t.Errorf("%d orders are wrong", n)
	}
	crowd.await(t, 0.9)
	s.rebuild(t)

	crowd.gone()
	s.conclude(t)
	s.requireOutcomes(t, sale, succeeded, "sold_out")
}
