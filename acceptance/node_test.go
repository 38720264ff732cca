package acceptance_test

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// readyWithin is how long a node may take to start; the first one migrates.
const readyWithin = time.Minute

// node is one node of the service. What starts and ends it is for the test's
// goroutine.
type node struct {
	address    string // host and port
	env        []string
	inRotation atomic.Bool // buyers are sent to it
	log        nodeLog
	name       string
	process    *process
	program    string
}

// startNode starts a node, which is ended with the test. A data race or a panic in
// it fails the test, and the log of a failed test's node is shown.
func startNode(t *testing.T, name, databaseURL string, settings ...string) *node {
	t.Helper()
	n := &node{
		address: freeAddress(t),
		name:    name,
		program: programPath(t),
	}
	own := slices.DeleteFunc(os.Environ(), func(setting string) bool { return strings.HasPrefix(setting, "SECKILL_") })
	n.env = append(append(own, "DATABASE_URL="+databaseURL, "SECKILL_LISTEN="+n.address), settings...)
	n.start(t)
	t.Cleanup(func() {
		n.process.kill()
		n.log.judge(t, n.name)
	})
	return n
}

// start starts the node, for the first time or again at the same address.
func (n *node) start(t *testing.T) {
	t.Helper()
	cmd := exec.Command(n.program, "serve")
	cmd.Env = n.env
	cmd.Stdout = &n.log
	cmd.Stderr = &n.log
	var err error
	if n.process, err = startProcess(cmd); err != nil {
		t.Fatalf("start node %s: %v", n.name, err)
	}
}

// awaitReady waits until the node says that it can sell.
func (n *node) awaitReady(t *testing.T, client *http.Client) {
	t.Helper()
	eventually(t, readyWithin, "node "+n.name+" is ready", func() bool {
		if n.hasEnded() {
			t.Fatalf("node %s ended: %s", n.name, n.process.state)
		}
		return n.isReady(client, 3*time.Second)
	})
}

func (n *node) isReady(client *http.Client, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url("/readyz"), http.NoBody)
	if err != nil {
		return false
	}
	answer, err := client.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

func (n *node) hasEnded() bool {
	select {
	case <-n.process.ended:
		return true
	default:
		return false
	}
}

// freeze stops the process as it stands; its connections stay open.
func (n *node) freeze(t *testing.T) {
	t.Helper()
	n.signal(t, syscall.SIGSTOP)
}

// thaw lets a frozen process go on.
func (n *node) thaw(t *testing.T) {
	t.Helper()
	n.signal(t, syscall.SIGCONT)
}

// terminate asks the process to stop.
func (n *node) terminate(t *testing.T) {
	t.Helper()
	n.signal(t, syscall.SIGTERM)
}

// kill ends the process as kill -9 does.
func (n *node) kill() { n.process.kill() }

func (n *node) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := n.process.Signal(signal); err != nil {
		t.Fatalf("send %s to node %s: %v", signal, n.name, err)
	}
}

// awaitExit waits until a node that was asked to stop has ended well.
func (n *node) awaitExit(t *testing.T, within time.Duration) {
	t.Helper()
	select {
	case <-n.process.ended:
		if code := n.process.state.ExitCode(); code != 0 {
			t.Errorf("node %s ended with %s", n.name, n.process.state)
		}
	case <-time.After(within):
		t.Errorf("node %s did not end within %s", n.name, within)
	}
}

// refusesConnections reports whether nobody listens at the node's address.
func (n *node) refusesConnections() bool {
	connection, err := net.DialTimeout("tcp", n.address, time.Second)
	if err != nil {
		return true
	}
	_ = connection.Close()
	return false
}

func (n *node) url(path string) string { return "http://" + n.address + path }

// freeAddress is one that nobody listens at, and which is not given to outgoing
// connections either: the thousands that the buyers make could take it before the
// node does.
func freeAddress(t *testing.T) string {
	t.Helper()
	const first, last = 20_000, 32_000
	for range 100 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(last-first)))
		listener, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
		return address
	}
	t.Fatalf("no port from %d to %d is free", first, last)
	return ""
}
