package acceptance_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// watchdog is a shell script that waits until this test program has ended, which
// closes the script's input, and then ends the process that the program was
// prevented from ending: a test that panics or is interrupted runs no cleanups.
const watchdog = `read -r _; kill -KILL "$1"`

// process is a running node.
type process struct {
	*os.Process

	ended chan struct{}
	state *os.ProcessState // once ended is closed
}

// startProcess starts the command, together with its watchdog.
func startProcess(cmd *exec.Cmd) (*process, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{Process: cmd.Process, ended: make(chan struct{})}
	stopWatching, err := watch(p.Process)
	if err != nil {
		return nil, errors.Join(err, p.Kill(), cmd.Wait())
	}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // the state says more
		stopWatching()
		p.state = cmd.ProcessState
	}()
	return p, nil
}

func watch(p *os.Process) (stop func(), err error) {
	dog := exec.Command("sh", "-c", watchdog, "watchdog", strconv.Itoa(p.Pid))
	dog.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // out of reach of Ctrl-C
	var input io.Closer
	input, err = dog.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := dog.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = dog.Process.Kill() // before its input ends, so that it does nothing
		_ = dog.Wait()
		_ = input.Close()
	}, nil
}

// kill ends the process as kill -9 does, and returns once it has ended.
func (p *process) kill() {
	_ = p.Kill() // it may have ended already
	<-p.ended
}
