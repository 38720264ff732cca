package http_test

import (
	"net"
	"net/netip"
	"testing"
)

// metadataOf is what stands beside the first event of a stream.
func metadataOf(t *testing.T, n *node, id string) string {
	t.Helper()
	return value[string](t, n, "select metadata::text from events where stream_id = $1 and version = 1", id)
}

// Who acted, the trace that the call belongs to, and how near the client was, stay
// beside the event.
func TestServer_RequestPurchase_Metadata(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 10, 1)
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for name, test := range map[string]struct{ traceparent, want string }{
		"Trace":          {trace, `{"actor": "42", "traceparent": "` + trace + `", "addressClass": "loopback"}`},
		"NotATrace":      {"' or 1=1", `{"actor": "42", "addressClass": "loopback"}`},
		"TraceWithALine": {trace + "x", `{"actor": "42", "addressClass": "loopback"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := n.buy(t, sale, by("42"), "Traceparent: "+test.traceparent)
			if got := metadataOf(t, n, p.RequestID); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	t.Run("Seckill", func(t *testing.T) {
		t.Parallel()
		var submitted struct{ Data string }
		n.post(t, "/seckill/submit", `{"userId":42,"goodsId":1001}`, "Traceparent: "+trace).is(t, 202).into(t, &submitted)
		if got, want := metadataOf(t, n, submitted.Data), `{"actor": "42", "traceparent": "`+trace+`", "addressClass": "loopback"}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// farListener accepts connections as if they came from elsewhere.
type farListener struct {
	net.Listener

	peer netip.AddrPort
}

func (l farListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return farConn{conn, l.peer}, err
}

type farConn struct {
	net.Conn

	peer netip.AddrPort
}

func (c farConn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.peer) }

// Of the client's address only its class is kept.
func TestServer_RequestPurchase_AddressClass(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 20, 1)
	for address, class := range map[string]string{
		"127.0.0.1":          "loopback",
		"127.9.9.9":          "loopback",
		"::1":                "loopback",
		"::ffff:127.0.0.1":   "loopback",
		"10.0.0.1":           "private",
		"172.31.255.255":     "private",
		"192.168.1.1":        "private",
		"::ffff:192.168.1.1": "private",
		"169.254.0.1":        "private",
		"fd00::1":            "private",
		"fe80::1%eth0":       "private",
		"172.32.0.1":         "public",
		"203.0.113.7":        "public",
		"::ffff:203.0.113.7": "public",
		"2001:db8::1":        "public",
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		serveOn(t, n.server, farListener{listener, netip.AddrPortFrom(netip.MustParseAddr(address), 50_000)})
		c := newClient(t, n.server, "http://"+listener.Addr().String(), (&net.Dialer{}).DialContext)
		p := c.buy(t, sale, by("42"))
		if got, want := metadataOf(t, n, p.RequestID), `{"actor": "42", "addressClass": "`+class+`"}`; got != want {
			t.Errorf("from %s: got %s, want %s", address, got, want)
		}
	}
}
