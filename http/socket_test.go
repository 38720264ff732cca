package http_test

import (
	"context"
	"encoding/json"
	"errors"
	stdhttp "net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"seckill/domain"
)

// dialSocket opens the WebSocket of a request.
func (c *client) dialSocket(t *testing.T, requestID string, header stdhttp.Header) *websocket.Conn {
	t.Helper()
	return c.dialSocketAt(t, "/purchases/"+requestID+"/ws", header)
}

func (c *client) dialSocketAt(t *testing.T, path string, header stdhttp.Header) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), c.base+path, &websocket.DialOptions{
		HTTPClient: c.http, HTTPHeader: header,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

// receive returns the next purchase that a socket sends, or with which code it was
// closed.
func receive(ctx context.Context, t *testing.T, conn *websocket.Conn) (purchase, websocket.StatusCode) {
	t.Helper()
	kind, data, err := conn.Read(ctx)
	if closed := (websocket.CloseError{}); errors.As(err, &closed) {
		return purchase{}, closed.Code
	}
	if err != nil {
		t.Fatal(err)
	}
	if kind != websocket.MessageText {
		t.Errorf("the message is of kind %s", kind)
	}
	var p purchase
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatal(err)
	}
	return p, 0
}

func TestServer_FollowBySocket(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	id := n.buy(t, n.sale(t, 10, 1), by("42")).RequestID
	conn := n.dialSocket(t, id, stdhttp.Header{"Accept-Language": {"zh-CN"}})
	if p, _ := receive(t.Context(), t, conn); p.RequestID != id || p.Status != "processing" || p.Success != nil {
		t.Fatalf("first it sends %+v, want the purchase as it is", p)
	}
	eventually(t, "it is counted", func() bool {
		return strings.Contains(string(n.get(t, "/metrics").body), `seckill_subscribers{kind="websocket"} 1`)
	})
	n.decide(t, uuid.MustParse(id), domain.PurchaseRejected{Reason: domain.ReasonSoldOut})
	p, _ := receive(t.Context(), t, conn)
	if polled := n.result(t, id, "Accept-Language: zh-CN"); p.Reason != "sold_out" || !cmp.Equal(p, polled) {
		t.Errorf("then it sends %+v, want what is polled: %+v", p, polled)
	}
	if _, code := receive(t.Context(), t, conn); code != websocket.StatusNormalClosure {
		t.Errorf("it closes with %d, want 1000", code)
	}

	// Who comes after the decision gets it at once.
	late := n.dialSocket(t, id, nil)
	if p, _ := receive(t.Context(), t, late); p.Reason != "sold_out" {
		t.Errorf("a late one is sent %+v", p)
	}
	if _, code := receive(t.Context(), t, late); code != websocket.StatusNormalClosure {
		t.Errorf("it closes with %d, want 1000", code)
	}
}

func TestServer_FollowBySocket_Refused(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	id := n.buy(t, n.sale(t, 10, 1), by("42")).RequestID
	upgrade := []string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}
	for name, test := range map[string]struct {
		path    string
		headers []string
		status  int
		code    string
	}{
		"NoWebSocket":   {"/purchases/" + id + "/ws", nil, 426, "upgrade_required"},
		"Unknown":       {"/purchases/01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f/ws", upgrade, 404, "request_not_found"},
		"Malformed":     {"/purchases/42/ws", upgrade, 404, "request_not_found"},
		"ForeignOrigin": {"/purchases/" + id + "/ws", append(upgrade, "Origin: https://elsewhere.example"), 403, "forbidden"},
		"NoOrigin":      {"/purchases/" + id + "/ws", append(upgrade, "Origin: null"), 403, "forbidden"},
	} {
		t.Run(name, func(t *testing.T) { n.get(t, test.path, test.headers...).problem(t, test.status, test.code) })
	}
	if waiters := n.hub.Waiters(uuid.MustParse(id)); waiters != 0 {
		t.Errorf("%d wait whom it refused", waiters)
	}
}

// A client that talks is closed, and one that leaves is forgotten.
func TestServer_FollowBySocket_Leaves(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	id := n.buy(t, n.sale(t, 10, 1), by("42")).RequestID
	waiters := func() int { return n.hub.Waiters(uuid.MustParse(id)) }

	talks := n.dialSocket(t, id, nil)
	if err := talks.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	receive(t.Context(), t, talks)
	if _, code := receive(t.Context(), t, talks); code != websocket.StatusPolicyViolation {
		t.Errorf("who talks is closed with %d, want 1008", code)
	}
	eventually(t, "who talks is forgotten", func() bool { return waiters() == 0 })

	leaves := n.dialSocket(t, id, nil)
	receive(t.Context(), t, leaves)
	eventually(t, "one waits", func() bool { return waiters() == 1 })
	_ = leaves.CloseNow()
	eventually(t, "who leaves is forgotten", func() bool { return waiters() == 0 })
}

// A server that stops tells its sockets to come back.
func TestServer_FollowBySocket_Shutdown(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	id := n.buy(t, n.sale(t, 10, 1), by("42")).RequestID
	conn := n.dialSocket(t, id, nil)
	receive(t.Context(), t, conn)
	stopped := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	go func() { stopped <- n.server.Shutdown(ctx) }()
	if _, code := receive(t.Context(), t, conn); code != websocket.StatusServiceRestart {
		t.Errorf("it closes with %d, want 1012", code)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// A client that neither reads nor leaves is cut off.
func TestServer_FollowBySocket_Silent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := startMemoryNode(t)
		id := n.accept().RequestID
		conn := n.dialSocket(t, id.String(), nil)
		receive(t.Context(), t, conn)
		synctest.Wait()
		if got := n.hub.Waiters(id); got != 1 {
			t.Fatalf("%d wait, want 1", got)
		}
		time.Sleep(40 * time.Second) // nobody answers the pings
		synctest.Wait()
		if got := n.hub.Waiters(id); got != 0 {
			t.Errorf("%d wait who have not answered for long", got)
		}
	})
}
