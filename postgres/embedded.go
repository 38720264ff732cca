package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	databaseName = "seckill"
	ownerRole    = "seckill"
)

// EmbeddedConfig says where an embedded server keeps its data and how it runs.
type EmbeddedConfig struct {
	// DataDir is the directory for the data; it is made if it does not exist.
	// Empty means DefaultDataDir.
	DataDir string

	// Logger is told of what takes time or goes wrong. Nil means nobody is.
	Logger *slog.Logger

	// Settings are settings of the server, by name, that go before the defaults.
	Settings map[string]string
}

// Embedded is a Postgres server that this program runs for itself. Nobody else
// can connect, unless as the same user of the system or as root.
type Embedded struct {
	dir          *dataDir
	installation installation
	log          *serverLog
	logger       *slog.Logger
	process      *process
	socketDir    string

	done     chan struct{}
	err      error // why the server ended by itself, once done is closed
	stopErr  error
	stopOnce sync.Once
	stopping atomic.Bool
}

// StartEmbedded runs a server and returns once it can be connected to. The data
// is what the last server left, or new: one database, whose owner may do
// everything. A server that is still running on the data, because the program
// that started it was killed, is taken over. The context limits the start only.
//
// It returns ErrNotInstalled where the programs of Postgres are missing, and
// ErrInUse where another program runs a server on the data.
func StartEmbedded(ctx context.Context, config EmbeddedConfig) (*Embedded, error) {
	server, err := startEmbedded(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("start the embedded Postgres: %w", err)
	}
	return server, nil
}

func startEmbedded(ctx context.Context, config EmbeddedConfig) (*Embedded, error) {
	if config.DataDir == "" {
		var err error
		if config.DataDir, err = DefaultDataDir(); err != nil {
			return nil, err
		}
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	dir, err := openDataDir(config.DataDir)
	if err != nil {
		return nil, err
	}
	e := &Embedded{dir: dir, done: make(chan struct{}), logger: config.Logger}
	if err := e.prepare(ctx, config.Settings); err != nil {
		return nil, errors.Join(err, e.release())
	}
	if err := e.run(ctx); err != nil {
		return nil, errors.Join(err, e.release())
	}
	go e.watch()
	go e.log.keepShort(e.done, func(err error) {
		e.logger.Warn("cannot bound the size of Postgres's log", "error", err)
	})
	return e, nil
}

// BinDir returns the directory of the server's programs, such as pg_dump.
func (e *Embedded) BinDir() string {
	return e.installation.dir
}

// Done is closed when the server has ended, by Stop or by itself.
func (e *Embedded) Done() <-chan struct{} {
	return e.done
}

// Err returns why the server ended by itself; nil while it runs and after Stop.
func (e *Embedded) Err() error {
	select {
	case <-e.done:
		return e.err
	default:
		return nil
	}
}

// PID returns the process ID of the server.
func (e *Embedded) PID() int {
	return e.process.Pid
}

// Stop disconnects the server's clients, ends it, and frees the data directory. It
// waits until everything is written. It returns an error if that did not go
// well; what was committed is safe even then. Further calls return the same.
func (e *Embedded) Stop() error {
	e.stopOnce.Do(func() {
		e.stopping.Store(true)
		if err := e.process.stop(); err != nil {
			e.stopErr = fmt.Errorf("stop the embedded Postgres: %w", err)
		}
		select {
		case <-e.process.ended:
			<-e.done
			e.stopErr = errors.Join(e.stopErr, e.release())
		default: // the data directory stays locked
		}
	})
	return e.stopErr
}

// URL returns the connection string of the database.
func (e *Embedded) URL() string {
	return socketURL(e.socketDir, databaseName)
}

// RunningURL returns the address of the server that another program runs on a data
// directory ("" for the default one). Only its user and root can connect there.
func RunningURL(dataDir string) (string, error) {
	if dataDir == "" {
		var err error
		if dataDir, err = DefaultDataDir(); err != nil {
			return "", err
		}
	}
	path, err := filepath.Abs(dataDir)
	if err != nil {
		return "", err
	}
	root, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return socketURL(socketDirFor(root), databaseName), nil
}

func socketURL(socketDir, database string) string {
	address := url.URL{
		Scheme:   "postgres",
		User:     url.User(ownerRole),
		Path:     "/" + database,
		RawQuery: url.Values{"host": {socketDir}, "port": {socketPort}}.Encode(),
	}
	return address.String()
}

// prepare finds the programs and brings the data directory to where a server can
// be started on it.
func (e *Embedded) prepare(ctx context.Context, settings map[string]string) error {
	major, err := e.dir.major()
	if err != nil {
		return err
	}
	dirs := candidates(filepath.SplitList(os.Getenv("PATH")), places)
	if e.installation, err = findInstallation(ctx, e.dir.account, major, dirs); err != nil {
		return err
	}
	if major == 0 {
		e.logger.InfoContext(ctx, "creating a Postgres cluster", "directory", e.dir.root, "version", e.installation.major)
		if err := e.dir.createCluster(ctx, e.installation, settings["fsync"] != "off"); err != nil {
			return err
		}
	}
	if err := e.dir.adjustOwner(); err != nil {
		return err
	}
	if e.socketDir, err = e.dir.socketDir(); err != nil {
		return err
	}
	if err := e.dir.writeSettings(e.socketDir, settings); err != nil {
		return err
	}
	e.log, err = openLog(e.dir.log())
	return err
}

// errEnding is returned where a start failed because an earlier server has not
// quite ended.
var errEnding = errors.New("an earlier server is still ending")

// run returns once a server answers: one that was left running, else a new one.
func (e *Embedded) run(ctx context.Context) error {
	patience := time.Now().Add(30 * time.Second)
	for {
		server, socketDir, err := e.dir.leftRunning()
		if err != nil {
			return err
		}
		if server != nil {
			err = e.adopt(ctx, server, socketDir)
		} else {
			err = e.launch(ctx)
		}
		if !errors.Is(err, errEnding) || time.Now().After(patience) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// adopt takes over a server that was left running. It returns errEnding if the
// server ends meanwhile, for it may have been told to before.
func (e *Embedded) adopt(ctx context.Context, server *process, socketDir string) error {
	e.logger.InfoContext(ctx, "taking over the Postgres server of an earlier run", "pid", server.Pid)
	if socketDir != "" {
		e.socketDir = socketDir
	}
	err := e.await(ctx, server)
	if errors.Is(err, errEnded) {
		return errEnding
	}
	return err
}

// launch starts a server. It returns errEnding while a server that was killed
// has children left, which use its shared memory.
func (e *Embedded) launch(ctx context.Context) error {
	if err := e.dir.removeStale(e.socketDir); err != nil {
		return err
	}
	if err := e.log.mark(); err != nil {
		return err
	}
	program := e.installation.program("postgres")
	cmd := e.dir.account.command(context.WithoutCancel(ctx), e.dir.cluster(), program, "-D", e.dir.cluster())
	cmd.Stdout, cmd.Stderr = e.log.file, e.log.file
	server, err := startProcess(cmd)
	if err != nil {
		return e.dir.account.explain(err, e.dir.cluster(), program)
	}
	err = e.await(ctx, server)
	if !errors.Is(err, errEnded) {
		return err
	}
	messages := e.log.sinceMark()
	if strings.Contains(messages, "pre-existing shared memory block") {
		return fmt.Errorf("%w: %s", errEnding, messages)
	}
	return fmt.Errorf("the server ended while starting (%s): %s", server.outcome, messages)
}

// await waits until the server answers. It stops a server that it gives up on.
func (e *Embedded) await(ctx context.Context, server *process) error {
	err := awaitReady(ctx, e.socketDir, server.ended, e.logger)
	if err == nil {
		e.process = server
		return nil
	}
	if errors.Is(err, errEnded) {
		return err
	}
	return errors.Join(err, server.stop())
}

// watch notes how the server ends.
func (e *Embedded) watch() {
	<-e.process.ended
	if !e.stopping.Load() {
		e.err = fmt.Errorf("the embedded Postgres ended by itself (%s), see %s", e.process.outcome, e.dir.log())
	}
	close(e.done)
}

// release gives up everything but the data.
func (e *Embedded) release() error {
	var errs []error
	if e.socketDir != "" {
		errs = append(errs, e.dir.removeSocketDir(e.socketDir))
	}
	if e.log != nil {
		errs = append(errs, e.log.file.Close())
	}
	return errors.Join(append(errs, e.dir.lock.Close())...)
}
