package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is a running server: a child of this program, or of an earlier one.
type process struct {
	*os.Process

	ended   chan struct{}
	outcome string // how it ended, once ended is closed
}

func startProcess(cmd *exec.Cmd) (*process, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{Process: cmd.Process, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // the state says more
		p.outcome = cmd.ProcessState.String()
	}()
	return p, nil
}

// adoptProcess takes over a server that is not a child of this program. Of such a
// process one learns that it has ended, not how.
func adoptProcess(pid int, cluster string) (*process, error) {
	found, err := os.FindProcess(pid)
	if err != nil {
		return nil, err
	}
	p := &process{Process: found, ended: make(chan struct{}), outcome: "not a child of this program"}
	go func() {
		defer close(p.ended)
		for serves(pid, cluster) {
			time.Sleep(200 * time.Millisecond)
		}
	}()
	return p, nil
}

// stop ends the server, the gentlest way that works. It returns an error if the
// server had to be ended in a way that the next start has to recover from, or
// could not be.
func (p *process) stop() error {
	ways := []struct {
		name     string
		signal   syscall.Signal
		patience time.Duration
	}{
		{"fast", syscall.SIGINT, 30 * time.Second},
		{"immediate", syscall.SIGQUIT, 10 * time.Second},
		{"forced", syscall.SIGKILL, 5 * time.Second},
	}
	for i, way := range ways {
		if err := p.Signal(way.signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("%s shutdown: %w", way.name, err)
		}
		select {
		case <-p.ended:
			if i > 0 {
				return fmt.Errorf("did not end within %s; a shutdown that was %s ended it", ways[i-1].patience, way.name)
			}
			return nil
		case <-time.After(way.patience):
		}
	}
	return fmt.Errorf("process %d does not end", p.Pid)
}
