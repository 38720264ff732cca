package http_test

import (
	"context"
	"fmt"
	stdhttp "net/http"
	"net/netip"
	"testing"

	"seckill/http"
	"seckill/postgres/postgrestest"
)

// loopback is where the tests connect from.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

func from(addresses string) string { return "X-Forwarded-For: " + addresses }

// waits are the four ways to hold a connection for long.
func waits(requestID string, saleID int64) map[string]string {
	return map[string]string{
		"Events":     "/purchases/" + requestID + "/events",
		"LongPoll":   "/purchases/" + requestID + "?wait=30s",
		"Result":     "/seckill/result/" + requestID + "?wait=30s",
		"SaleEvents": saleEvents(saleID),
	}
}

// One address can hold so many connections and no more, whatever they are for;
// others are not touched, and who leaves makes room.
func TestConnections_PerAddress(t *testing.T) {
	t.Parallel()
	n := startNodeOn(t, postgrestest.New(t), nodeConfig{connections: http.Connections{PerAddress: 3}, idle: true, proxies: loopback})
	sale := n.sale(t, 10, 1)
	id := n.buy(t, sale, by("42")).RequestID
	hold := func(ctx context.Context, address string) {
		t.Helper()
		n.follow(ctx, t, id, from(address)).next()
	}
	ctx, leave := context.WithCancel(t.Context())
	hold(ctx, "203.0.113.7")
	n.openStream(ctx, t, saleEvents(sale), from("203.0.113.7")).next()
	conn := n.dialSocket(t, id, stdhttp.Header{"X-Forwarded-For": {"203.0.113.7"}})
	receive(t.Context(), t, conn)
	for name, path := range waits(id, sale) {
		a := n.get(t, path, from("203.0.113.7"))
		if name == "Result" {
			a.refusal(t, stdhttp.StatusTooManyRequests)
		} else {
			a.problem(t, stdhttp.StatusTooManyRequests, "rate_limited")
		}
		if got := a.header.Get("Retry-After"); got != "5" {
			t.Errorf("%s: Retry-After is %q, want 5", name, got)
		}
	}
	n.get(t, "/purchases/"+id, from("203.0.113.7")).is(t, stdhttp.StatusOK) // what holds nothing is not bounded

	hold(t.Context(), "203.0.113.8")
	hold(t.Context(), "2001:db8::1")
	hold(t.Context(), "2001:db8::2")
	hold(t.Context(), "2001:db8::3")
	n.get(t, waits(id, sale)["Events"], from("2001:db8::4")).problem(t, stdhttp.StatusTooManyRequests, "rate_limited")
	hold(t.Context(), "2001:db8:0:1::4")

	leave()
	_ = conn.CloseNow()
	eventually(t, "those who left are forgotten", func() bool { open, kept := n.server.Connections(); return open == 5 && kept == 4 })
	hold(t.Context(), "203.0.113.7")
}

// One user's purchases can be waited for by so many connections and no more, from
// wherever. Connections of the machine itself are not bounded by their address.
func TestConnections_PerUser(t *testing.T) {
	t.Parallel()
	n := startNodeOn(t, postgrestest.New(t), nodeConfig{connections: http.Connections{PerAddress: 1, PerUser: 2}, idle: true})
	sale := n.sale(t, 10, 2)
	first, second := n.buy(t, sale, by("42")).RequestID, n.buy(t, sale, by("42")).RequestID
	n.follow(t.Context(), t, first).next()
	ctx, leave := context.WithCancel(t.Context())
	n.follow(ctx, t, second).next()
	n.get(t, "/purchases/"+first+"/events").problem(t, stdhttp.StatusTooManyRequests, "rate_limited")
	n.follow(t.Context(), t, n.buy(t, sale, by("43")).RequestID).next()
	leave()
	eventually(t, "who left is forgotten", func() bool { open, _ := n.server.Connections(); return open == 2 })
	n.follow(t.Context(), t, second).next()
}

// A node that is full refuses early; purchases and polls go on.
func TestConnections_All(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	n.server.BoundConnections(2)
	sale := n.sale(t, 10, 1)
	id := n.buy(t, sale, by("42")).RequestID
	n.follow(t.Context(), t, id).next()
	n.openStream(t.Context(), t, saleEvents(sale)).next()
	for name, path := range waits(id, sale) {
		if a := n.get(t, path); a.status != stdhttp.StatusServiceUnavailable {
			t.Errorf("%s answers %d, want 503", name, a.status)
		}
	}
	n.buy(t, sale, by("43"))
	n.get(t, "/purchases/"+id).is(t, stdhttp.StatusOK)
}

// Only what a trusted proxy says counts, and of that only what it has written
// itself.
func TestServer_ClientAddress(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		proxies []netip.Prefix
		header  string
		class   string
	}{
		"NoProxy":     {nil, "203.0.113.7", "loopback"},
		"OtherProxy":  {[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, "203.0.113.7", "loopback"},
		"Proxy":       {loopback, "203.0.113.7", "public"},
		"Forged":      {loopback, "203.0.113.7, 192.168.0.9", "private"},
		"TwoProxies":  {append(loopback, netip.MustParsePrefix("10.0.0.0/8")), "192.168.0.9, 203.0.113.7, 10.0.0.1", "public"},
		"NotAnything": {loopback, "unknown", "loopback"},
		"NoHeader":    {loopback, "", "loopback"},
		"IPv6":        {loopback, "2001:db8::1", "public"},
		"Zone":        {loopback, "fe80::1%eth0", "private"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := startNodeOn(t, postgrestest.New(t), nodeConfig{idle: true, proxies: test.proxies})
			id := n.post(t, purchases(n.sale(t, 10, 1)), by("42"), from(test.header)).purchase(t, stdhttp.StatusAccepted).RequestID
			if got, want := metadataOf(t, n, id), fmt.Sprintf(`{"actor": "42", "addressClass": %q}`, test.class); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
