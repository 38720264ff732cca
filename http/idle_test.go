package http_test

import (
	"errors"
	"io"
	"net"
	stdhttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/http"
	"seckill/postgres/postgrestest"
)

// Of more idle connections than there may be those that have been idle for longest are
// closed, whether they have asked for something or not. Whoever waits for an answer is
// not idle, nor is one who was answered a moment ago closed before the others.
func TestServer_IdleConnections(t *testing.T) {
	t.Parallel()
	const most = 10
	n := startNodeOn(t, postgrestest.New(t), nodeConfig{connections: http.Connections{Idle: most}, idle: true})
	id := n.buy(t, n.sale(t, 10, 1), by("42")).RequestID
	waiter := n.follow(t.Context(), t, id)
	waiter.next()
	polled := make(chan answer, 1)
	go func() {
		a, err := n.try(t.Context(), stdhttp.MethodGet, "/purchases/"+id+"?wait=30s", "")
		if err != nil {
			t.Error(err)
		}
		polled <- a
	}()
	eventually(t, "both wait", func() bool { return n.hub.Waiters(uuid.MustParse(id)) == 2 })

	var idle []net.Conn
	for i := range 3 * most {
		conn, err := net.Dial("tcp", strings.TrimPrefix(n.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if i%2 == 0 { // the others do not even ask
			if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Read(make([]byte, 4096)); err != nil {
				t.Fatal(err)
			}
		}
		idle = append(idle, conn)
	}
	eventually(t, "the first are closed", func() bool { return isClosed(t, idle[2*most-2]) })
	for i, conn := range idle {
		if closed := isClosed(t, conn); closed != (i < 2*most) && (i < 2*most-2 || i > 2*most) { // the test's client has some, too
			t.Errorf("connection %d of %d is closed: %t", i, len(idle), closed)
		}
	}

	n.decideSilently(t, uuid.MustParse(id))
	if p := (<-polled).purchase(t, stdhttp.StatusOK); p.Reason != "sold_out" {
		t.Errorf("the poll got %+v", p)
	}
	if e, ok := waiter.next(); !ok || e["event"] != "result" {
		t.Errorf("the stream goes on with %v", e)
	}
}

func isClosed(t *testing.T, conn net.Conn) bool {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	_, err := conn.Read(make([]byte, 1))
	if err == nil {
		t.Fatal("the server says something")
	}
	return !isTimeout(err) || errors.Is(err, io.EOF)
}
