package http_test

import (
	"cmp"
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/http"
	"seckill/projections"
	"seckill/purchasing"
)

// memoryNode is the edge alone: a hub that is told what happens by the test, and
// a server on connections in memory. Within a synctest bubble its time is the
// bubble's, so that a test can say to the nanosecond when something is answered.
type memoryNode struct {
	*client

	hub      *http.Hub
	listener *memoryListener
	server   *http.Server
}

func startMemoryNode(t *testing.T) *memoryNode {
	t.Helper()
	n := &memoryNode{
		hub:      http.NewHub(nil, projections.NewPurchases(eventstore.New()), http.NewMetrics(prometheus.NewRegistry()), quiet()),
		listener: newMemoryListener(),
	}
	n.server = newServer(t, n.hub)
	serveOn(t, n.server, n.listener)
	n.client = newClient(t, n.server, "http://memory", n.listener.dial)
	return n
}

// newServer is a server without a database.
func newServer(t *testing.T, hub *http.Hub) *http.Server {
	t.Helper()
	return newServerWith(t, http.Config{Hub: hub})
}

// newServerWith is a server without a database; it fills in what the configuration
// leaves open.
func newServerWith(t *testing.T, config http.Config) *http.Server {
	t.Helper()
	if config.Hub == nil {
		config.Hub = newHub()
	}
	config.Intake = &purchasing.Intake{IntakeConfig: purchasing.IntakeConfig{Backlog: purchasing.NewBacklog(nil, quiet())}}
	config.Logger = cmp.Or(config.Logger, quiet())
	config.Secret = secret
	config.Version = "test"
	server, err := http.NewServer(config)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// accept tells the hub of a purchase that was accepted just now. For the next
// second the hub needs no database to answer for it.
func (n *memoryNode) accept() projections.Purchase {
	p := projections.Purchase{
		RequestID:  uuid.Must(uuid.NewV7()),
		Version:    1,
		SaleID:     1001,
		UserID:     "42",
		Quantity:   1,
		Status:     projections.StatusProcessing,
		AcceptedAt: time.Now(),
	}
	n.hub.Accepted(p)
	return p
}

// soldOut tells the hub that a purchase found everything sold.
func (n *memoryNode) soldOut(id uuid.UUID) {
	n.hub.Committed([]eventstore.Event{{
		StreamID:   id,
		Version:    2,
		SaleID:     1001,
		Data:       domain.PurchaseRejected{Reason: domain.ReasonSoldOut},
		RecordedAt: time.Now(),
	}})
}

// memoryListener accepts connections that have no buffer: a write ends when the
// other side has read it, so a reader that stalls is noticed at once.
type memoryListener struct {
	closing     sync.Once
	closed      chan struct{}
	connections chan net.Conn
}

func newMemoryListener() *memoryListener {
	return &memoryListener{closed: make(chan struct{}), connections: make(chan net.Conn)}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case connection := <-l.connections:
		return connection, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Addr() net.Addr { return memoryAddr{} }

func (l *memoryListener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return nil
}

func (l *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.connections <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }

func (memoryAddr) String() string { return "memory" }
