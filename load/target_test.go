package load

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

func TestResolveTarget(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		url    string
		remote bool
		want   error
	}{
		{name: "IPv4Loopback", url: "http://127.0.0.1:8080"},
		{name: "IPv4LoopbackNet", url: "http://127.9.9.9"},
		{name: "IPv6Loopback", url: "http://[::1]:8080"},
		{name: "IPv4InIPv6", url: "http://[::ffff:127.0.0.1]:8080"},
		{name: "Localhost", url: "https://localhost"},
		{name: "Private", url: "http://10.0.0.1:8080", want: ErrNotLoopback},
		{name: "Public", url: "http://192.0.2.1", want: ErrNotLoopback},
		{name: "Unspecified", url: "http://0.0.0.0:8080", want: ErrNotLoopback},
		{name: "LoopbackAsUser", url: "http://127.0.0.1@192.0.2.1/", want: ErrNotLoopback},
		{name: "RemoteAllowed", url: "http://192.0.2.1", remote: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := resolveTarget(t.Context(), test.url, test.remote); !errors.Is(err, test.want) {
				t.Fatalf("resolveTarget(%q) = %v, want %v", test.url, err, test.want)
			}
		})
	}

	t.Run("NotAURL", func(t *testing.T) {
		t.Parallel()
		for _, raw := range []string{"", "127.0.0.1:8080", "ftp://127.0.0.1", "http://", "http://127.0.0.1:port"} {
			if _, err := resolveTarget(t.Context(), raw, true); err == nil {
				t.Errorf("resolveTarget(%q) succeeded", raw)
			}
		}
	})
}

// TestRun_SendsNothingAway listens on an address of this machine that is not a
// loopback address: not even a connection may arrive there.
func TestRun_SendsNothingAway(t *testing.T) {
	t.Parallel()
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(ownAddress(t), "0"))
	if err != nil {
		t.Skip(err)
	}
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	defer server.Close()

	if _, err := Run(t.Context(), Config{Target: server.URL, Requests: 1}); !errors.Is(err, ErrNotLoopback) {
		t.Errorf("Run = %v, want ErrNotLoopback", err)
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}

// ownAddress is an address of this machine that others could reach.
func ownAddress(t *testing.T) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Skip(err)
	}
	for _, addr := range addrs {
		if network, ok := addr.(*net.IPNet); ok && network.IP.To4() != nil && !network.IP.IsLoopback() {
			return network.IP.String()
		}
	}
	t.Skip("this machine has only loopback addresses")
	return ""
}
