package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestStartEmbeddedAgain starts servers on one directory, one after the other.
func TestStartEmbeddedAgain(t *testing.T) {
	t.Parallel()
	dir := testDir(t)
	stop(t, start(t, dir))

	t.Run("KeepsTheData", func(t *testing.T) {
		first := start(t, dir)
		queryText(t, first, "create table kept as select 'kept' as word")
		queryText(t, first, "alter system set random_page_cost = 2")
		stop(t, first)
		if err := first.Err(); err != nil {
			t.Errorf("Err after Stop: %v", err)
		}
		second := start(t, dir)
		if got := queryText(t, second, "select word from kept"); got != "kept" {
			t.Errorf("got %q", got)
		}
		if got := queryText(t, second, "show random_page_cost"); got != "2" {
			t.Errorf("what ALTER SYSTEM set to 2 is %s", got)
		}
	})

	t.Run("RecoversAServerThatWasKilled", func(t *testing.T) {
		first := start(t, dir)
		queryText(t, first, "create table recovered as select 'recovered' as word")
		// One of the server's children outlives it for a while.
		child, err := strconv.Atoi(queryText(t, first, "select pid::text from pg_stat_activity where backend_type = 'checkpointer'"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(syscall.Kill(child, syscall.SIGSTOP), syscall.Kill(first.PID(), syscall.SIGKILL)); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(300*time.Millisecond, func() { _ = syscall.Kill(child, syscall.SIGCONT) })
		<-first.Done()
		if err := first.Err(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("Err of a server that was killed: %v", err)
		}
		stop(t, first)
		second := start(t, dir)
		if got := queryText(t, second, "select word from recovered"); got != "recovered" {
			t.Errorf("got %q", got)
		}
	})

	t.Run("TakesOverTheServerOfAKilledProgram", func(t *testing.T) {
		program, pid := startProgram(t, dir)
		_, err := StartEmbedded(t.Context(), EmbeddedConfig{DataDir: dir})
		if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), strconv.Itoa(program.Pid)) {
			t.Errorf("while the program runs: got %v, want ErrInUse with its process ID", err)
		}
		kill(t, program)

		server := start(t, dir)
		if server.PID() != pid {
			t.Errorf("process %d serves, want that of the killed program, %d", server.PID(), pid)
		}
		queryText(t, server, "select 'works'")
		stop(t, server)
		if serves(pid, server.dir.cluster()) {
			t.Errorf("process %d still serves", pid)
		}
	})

	t.Run("ReportsThatATakenOverServerEnds", func(t *testing.T) {
		program, pid := startProgram(t, dir)
		kill(t, program)
		server := start(t, dir)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-server.Done()
		if server.Err() == nil {
			t.Error("Err is nil")
		}
	})

	t.Run("IgnoresAStalePidFileWhoseIDIsUsedAgain", func(t *testing.T) {
		first := start(t, dir)
		stop(t, first)
		// Postgres heeds only processes of the user that it runs as itself.
		other := first.dir.account.command(t.Context(), "/", "sleep", "60")
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = other.Process.Kill()
			_ = other.Wait()
		})
		lines := fmt.Sprintf("%d\n%s\n1\n%s\n%s\n", other.Process.Pid, first.dir.cluster(), socketPort, first.socketDir)
		for _, path := range []string{
			filepath.Join(first.dir.cluster(), pidFileName),
			filepath.Join(first.socketDir, socketName+".lock"),
		} {
			if err := errors.Join(os.WriteFile(path, []byte(lines), 0o600), first.dir.account.own(path)); err != nil {
				t.Fatal(err)
			}
		}
		start(t, dir)
	})

	t.Run("LeavesNothingBehindWhenCancelled", func(t *testing.T) {
		// A standby that does not take queries starts, but is never ready.
		standby := filepath.Join(dir, "cluster", "standby.signal")
		if err := os.WriteFile(standby, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_, err := StartEmbedded(ctx, EmbeddedConfig{DataDir: dir, Settings: map[string]string{"hot_standby": "off"}})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want context.DeadlineExceeded", err)
		}
		if _, err := os.Stat(filepath.Join(dir, "cluster", pidFileName)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a server still runs: %v", err)
		}
		if err := os.Remove(standby); err != nil {
			t.Fatal(err)
		}
		start(t, dir)
	})

	t.Run("TakesFilesThatBelongToRoot", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give files away")
		}
		err := filepath.WalkDir(filepath.Join(dir, "cluster"), func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, 0, 0))
		})
		if err != nil {
			t.Fatal(err)
		}
		start(t, dir)
	})
}

func kill(t *testing.T, program *os.Process) {
	t.Helper()
	if err := program.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := program.Wait(); err != nil {
		t.Fatal(err)
	}
}
