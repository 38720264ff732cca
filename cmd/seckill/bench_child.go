package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"seckill/load/bench"
)

const (
	// readyWithin is how long a child may take until it is ready.
	readyWithin = 30 * time.Second
	// readyPoll is how often it is asked.
	readyPoll = 20 * time.Millisecond
	// stopWithin is how long a child may take to stop before it is killed.
	stopWithin = 15 * time.Second
)

// child is a command of this program that runs as a process of its own, and
// serves.
type child struct {
	base  string // its URL
	ended chan struct{}
	err   error // how it ended, once ended is closed
	stop  context.CancelFunc
	words lastWords
}

// startChild runs a command on a free port, with nothing but the given settings,
// and returns once it is ready. It is stopped when the context ends.
func startChild(ctx context.Context, command string, settings ...string) (*bench.Server, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	c := &child{base: "http://" + address, ended: make(chan struct{}), stop: stop}
	process := exec.CommandContext(ctx, program, command)
	process.Env = append(withoutSettings(os.Environ()), settings...)
	process.Env = append(process.Env, "SECKILL_LISTEN="+address)
	process.Stderr = &c.words
	process.Cancel = func() error { return process.Process.Signal(syscall.SIGTERM) }
	process.WaitDelay = stopWithin
	if err := process.Start(); err != nil {
		stop()
		return nil, err
	}
	go func() {
		c.err = process.Wait()
		close(c.ended)
	}()
	if err := c.ready(ctx); err != nil {
		return nil, errors.Join(err, c.end())
	}
	return &bench.Server{URL: c.base, PID: process.Process.Pid, Stop: c.end}, nil
}

// end stops the process and waits until it is gone. It returns an error if the
// process failed, then or before, with what it said last.
func (c *child) end() error {
	c.stop()
	<-c.ended
	if c.err != nil && !errors.Is(c.err, context.Canceled) {
		return fmt.Errorf("%s: %w\n%s", c.base, c.err, c.words.text)
	}
	return nil
}

func (c *child) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		if err := c.askReady(ctx); err == nil {
			return nil
		}
		select {
		case <-c.ended:
			return errors.New("ended before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", ctx.Err())
		case <-time.After(readyPoll):
		}
	}
}

func (c *child) askReady(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// freeAddress is one that nobody listens on, a moment ago.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// withoutSettings leaves out of an environment what would change a server: the
// defaults are measured.
func withoutSettings(environment []string) []string {
	var rest []string
	for _, variable := range environment {
		if !strings.HasPrefix(variable, "SECKILL_") && !strings.HasPrefix(variable, "DATABASE_URL=") {
			rest = append(rest, variable)
		}
	}
	return rest
}

// lastWords keeps the end of what is written.
type lastWords struct{ text []byte }

// Write implements io.Writer.
func (w *lastWords) Write(p []byte) (int, error) {
	const most = 4 << 10
	w.text = append(w.text, p...)
	w.text = w.text[max(0, len(w.text)-most):]
	return len(p), nil
}
