package postgres

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestStartEmbedded(t *testing.T) {
	t.Parallel()

	t.Run("RunsTheDefaultsOnAPrivateSocket", func(t *testing.T) {
		t.Parallel()
		server, err := StartEmbedded(t.Context(), EmbeddedConfig{DataDir: testDir(t)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { stop(t, server) })
		for query, want := range map[string]string{
			"select current_database()": "seckill",
			"select current_user":       "seckill",
			"show data_checksums":       "on",
			"show fsync":                "on",
			"show listen_addresses":     "",
			"show max_connections":      "300",
			"show server_encoding":      "UTF8",
			"show synchronous_commit":   "on",
			"show timezone":             "UTC",
			"select datcollate from pg_database where datname = current_database()": "C",
		} {
			if got := queryText(t, server, query); got != want {
				t.Errorf("%s: got %q, want %q", query, got, want)
			}
		}
		group, err := syscall.Getpgid(server.PID())
		if err != nil {
			t.Fatal(err)
		}
		if group == syscall.Getpgrp() {
			t.Error("the server is in this program's process group, which a terminal sends Ctrl-C to")
		}
		info, err := os.Stat(socketDirOf(t, server))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o700 {
			t.Errorf("others may use the socket: %s", info.Mode())
		}
	})

	t.Run("FinishesAnInterruptedCreation", func(t *testing.T) {
		t.Parallel()
		dir := testDir(t)
		unfinished := filepath.Join(dir, "cluster.new")
		if err := os.MkdirAll(unfinished, 0o711); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o711); err != nil { // whatever the umask
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(unfinished, "PG_VERSION"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		start(t, dir)
	})

	t.Run("ShortSocketPathForALongDirectory", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(testDir(t), strings.Repeat("long/", 30))
		server := start(t, dir)
		queryText(t, server, "select 'works'")
		stop(t, server)
		if _, err := os.Stat(socketDirOf(t, server)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the socket's directory outside the data directory remains: %v", err)
		}
	})

	t.Run("NamesTheVersionThatIsMissing", func(t *testing.T) {
		t.Parallel()
		dir := testDir(t)
		if err := os.MkdirAll(filepath.Join(dir, "cluster"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "cluster", "PG_VERSION"), []byte("9\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := StartEmbedded(t.Context(), EmbeddedConfig{DataDir: dir})
		if !errors.Is(err, ErrNotInstalled) || !strings.Contains(err.Error(), "version 9") {
			t.Errorf("got %v, want ErrNotInstalled for version 9", err)
		}
	})

	t.Run("NamesTheDirectoryInTheWay", func(t *testing.T) {
		t.Parallel()
		if os.Geteuid() != 0 {
			t.Skip("only root runs the server as somebody else")
		}
		closed := filepath.Dir(testDir(t))
		if err := os.Chmod(closed, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := StartEmbedded(t.Context(), EmbeddedConfig{DataDir: filepath.Join(closed, "data")})
		if err == nil || !strings.Contains(err.Error(), "may not enter "+closed+" ") {
			t.Errorf("got %v, want an error that names %s", err, closed)
		}
	})

	t.Run("RunsForAnOrdinaryUser", func(t *testing.T) {
		t.Parallel()
		if os.Geteuid() != 0 {
			t.Skip("the other tests run for one")
		}
		nobody := lookUp(t, "nobody")
		dir := filepath.Dir(testDir(t))
		program := filepath.Join(dir, "program")
		if err := errors.Join(copyProgram(program), nobody.own(dir)); err != nil {
			t.Fatal(err)
		}
		cmd := nobody.command(t.Context(), dir, program, "-test.run=^TestStartEmbeddedAgain$", "-test.v")
		cmd.Env = append(cmd.Env, "TMPDIR="+dir)
		output, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(output), "--- PASS: TestStartEmbeddedAgain/KeepsTheData") {
			t.Errorf("%v:\n%s", err, output)
		}
	})
}

func TestDefaultDataDir(t *testing.T) {
	t.Parallel()
	dir, err := DefaultDataDir()
	if os.Geteuid() == 0 && dir != "/var/lib/seckill" || err == nil && !filepath.IsAbs(dir) {
		t.Errorf("got %q, %v", dir, err)
	}
}
