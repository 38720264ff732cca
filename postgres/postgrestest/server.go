package postgrestest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"seckill/postgres"
)

// Instance is a server of a test's own. Its methods fail the test if they do not
// succeed, and are to be called from the test's goroutine.
type Instance struct {
	config postgres.EmbeddedConfig
	server *postgres.Embedded
	tb     testing.TB
}

// Server starts a server for one test, which may do with it what it likes; it is
// gone when the test ends. It is as the program runs it, with everything that
// makes data durable, except for settings given as name=value. Its one database
// is empty: migrations.Up makes the schema. Main is not needed.
func Server(tb testing.TB, settings ...string) *Instance {
	tb.Helper()
	dir, err := makeTempDir()
	if err != nil {
		tb.Fatalf("postgrestest.Server: %v", err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("postgrestest.Server: %v", err)
		}
	})
	i := &Instance{
		config: postgres.EmbeddedConfig{
			DataDir:  dir,
			Settings: map[string]string{"log_lock_waits": "on", "shared_buffers": "64MB"},
		},
		tb: tb,
	}
	for _, setting := range settings {
		name, value, ok := strings.Cut(setting, "=")
		if !ok {
			tb.Fatalf("postgrestest.Server: setting %q is not of the form name=value", setting)
		}
		i.config.Settings[name] = value
	}
	i.Start()
	tb.Cleanup(i.Stop)
	return i
}

// Command returns a command that runs one of the version's own programs, such as
// pg_dump.
func (i *Instance) Command(program string, arguments ...string) *exec.Cmd {
	return exec.CommandContext(i.tb.Context(), filepath.Join(i.server.BinDir(), program), arguments...)
}

// Kill ends the server as kill -9 does, and returns once it has ended. Nothing
// is written any more; Start recovers what was committed.
func (i *Instance) Kill() {
	i.tb.Helper()
	if err := syscall.Kill(i.server.PID(), syscall.SIGKILL); err != nil {
		i.tb.Fatalf("postgrestest: kill the server: %v", err)
	}
	<-i.server.Done()
	i.Stop()
}

// PID returns the process ID of the server, for signals.
func (i *Instance) PID() int {
	return i.server.PID()
}

// Restart stops the server in an orderly way and starts it again.
func (i *Instance) Restart() {
	i.tb.Helper()
	i.Stop()
	i.Start()
}

// Start starts the server again after Stop or Kill, at the same URL.
func (i *Instance) Start() {
	i.tb.Helper()
	server, err := postgres.StartEmbedded(i.tb.Context(), i.config)
	if err != nil {
		i.tb.Fatalf("postgrestest: %v", err)
	}
	i.server = server
}

// Stop stops the server in an orderly way, cutting its connections.
func (i *Instance) Stop() {
	i.tb.Helper()
	if err := i.server.Stop(); err != nil {
		i.tb.Errorf("postgrestest: %v", err)
	}
}

// URL returns the connection string of the server's database.
func (i *Instance) URL() string {
	return i.server.URL()
}
