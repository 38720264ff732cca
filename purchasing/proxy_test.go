package purchasing_test

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"seckill/postgres/postgrestest"
)

// cutProxy stands between a node and its database and cuts a connection around
// its COMMIT, when armed.
type cutProxy struct {
	target string // network and address of the database
	when   atomic.Int32
	cuts   atomic.Int32
}

const (
	cutNever int32 = iota
	// cutAfterCommit lets the COMMIT through and loses its answer.
	cutAfterCommit
	// cutBeforeCommit loses the COMMIT itself.
	cutBeforeCommit
)

// startProxy returns a proxy to the database and the URL that leads through it.
func startProxy(t *testing.T, databaseURL string) (*cutProxy, string) {
	t.Helper()
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &cutProxy{target: net.JoinHostPort(config.Host, fmt.Sprint(config.Port))}
	if strings.HasPrefix(config.Host, "/") {
		p.target = fmt.Sprintf("%s/.s.PGSQL.%d", config.Host, config.Port)
	}
	var connections sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); connections.Wait() })
	connections.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Go(func() { p.relay(client) })
		}
	})
	through := url.URL{Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: listener.Addr().String(), Path: config.Database}
	return p, through.String() + "?sslmode=disable"
}

func (p *cutProxy) relay(client net.Conn) {
	defer client.Close()
	network := "tcp"
	if strings.HasPrefix(p.target, "/") {
		network = "unix"
	}
	server, err := net.Dial(network, p.target)
	if err != nil {
		return
	}
	defer server.Close()
	var cut atomic.Bool
	var answers sync.WaitGroup
	answers.Go(func() {
		defer client.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			if err != nil || cut.Load() {
				return // the answer to COMMIT was read here, and goes no further
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	})
	buffer := make([]byte, 64<<10)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			break
		}
		if bytes.Contains(buffer[:n], []byte("commit\x00")) {
			switch when := p.when.Swap(cutNever); when {
			case cutBeforeCommit:
				p.cuts.Add(1)
				return
			case cutAfterCommit:
				p.cuts.Add(1)
				cut.Store(true)
			}
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			break
		}
		if cut.Load() {
			answers.Wait()
			return
		}
	}
}

// What is reported is what is stored, also when the answer to COMMIT is lost:
// the request is accepted once, under the ID that was reported (FAULTS 8).
func TestIntake_AmbiguousCommit(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]int32{"AnswerLost": cutAfterCommit, "CommitLost": cutBeforeCommit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := postgrestest.New(t)
			proxy, through := startProxy(t, direct)
			n := newNode(t, through, 500)
			sale := n.sale(t, 10, 1)
			n.submit(t, sale, "warm-up", 1)
			before := value[int](t, n, "select count(*) from river_job")

			proxy.when.Store(when)
			id := n.submit(t, sale, "42", 1)
			if proxy.cuts.Load() != 1 {
				t.Fatalf("the proxy cut %d connections, want 1", proxy.cuts.Load())
			}
			events := value[int](t, n, "select count(*) from events where data->>'userId' = '42'")
			same := value[int](t, n, "select count(*) from events where stream_id = $1", id)
			jobs := value[int](t, n, "select count(*) from river_job") - before
			if events != 1 || same != 1 || jobs != 1 {
				t.Errorf("%d events of the buyer, %d under the reported ID, %d jobs; want one each", events, same, jobs)
			}
		})
	}
}
