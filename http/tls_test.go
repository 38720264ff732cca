package http_test

import (
	"context"
	"crypto/tls"
	"net"
	stdhttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"seckill/domain"
	"seckill/http"
	"seckill/postgres/postgrestest"
)

// serveTLS serves on an address of its own until the test ends, and returns a client
// that speaks HTTP/2.
func serveTLS(t *testing.T, server *http.Server, config *tls.Config) *client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, server, listener)
	return overTLS(t, newClient(t, server, "https://"+listener.Addr().String(), nil), config, 2)
}

// overTLS is the client with that version of HTTP.
func overTLS(t *testing.T, c *client, config *tls.Config, version int) *client {
	t.Helper()
	transport := &stdhttp.Transport{MaxIdleConnsPerHost: 1000, TLSClientConfig: config.Clone(), Protocols: new(stdhttp.Protocols)}
	transport.Protocols.SetHTTP1(version == 1)
	transport.Protocols.SetHTTP2(version == 2)
	t.Cleanup(transport.CloseIdleConnections)
	over := *c
	over.http = &stdhttp.Client{CheckRedirect: c.http.CheckRedirect, Timeout: c.http.Timeout, Transport: transport}
	return &over
}

// All that works in the clear works over TLS, by either version of HTTP.
func TestServer_TLS(t *testing.T) {
	t.Parallel()
	certificate, config := certificateOf(t, valid(t, "seckill"))
	n := startNodeOn(t, postgrestest.New(t), nodeConfig{certificate: certificate, idle: true, tls: config})
	sale := n.sale(t, 100, 1)
	for version, name := range map[int]string{1: "HTTP1", 2: "HTTP2"} {
		t.Run(name, func(t *testing.T) {
			c := overTLS(t, n.client, config, version)
			response, err := c.send(t.Context(), stdhttp.MethodGet, "/healthz", "")
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if got := response.Header.Get("Strict-Transport-Security"); got != "max-age=31536000" {
				t.Errorf("Strict-Transport-Security is %q", got)
			}
			if response.ProtoMajor != version {
				t.Fatalf("it speaks %s", response.Proto)
			}

			id := c.buy(t, sale, by(name)).RequestID
			polled := make(chan answer, 1)
			go func() {
				a, err := c.try(t.Context(), stdhttp.MethodGet, "/purchases/"+id+"?wait=30s", "")
				if err != nil {
					t.Error(err)
				}
				polled <- a
			}()
			s := c.follow(t.Context(), t, id)
			if e, ok := s.next(); !ok || e["event"] != "processing" {
				t.Fatalf("the stream begins with %v", e)
			}
			socket := overTLS(t, n.client, config, 1).dialSocket(t, id, nil)
			if p, _ := receive(t.Context(), t, socket); p.Status != "processing" {
				t.Errorf("the socket begins with %+v", p)
			}
			eventually(t, "all wait", func() bool { return n.hub.Waiters(uuid.MustParse(id)) == 3 })
			// A deadline for one event must not end a stream that has nothing to say.
			time.Sleep(6 * time.Second)
			n.decide(t, uuid.MustParse(id), domain.PurchaseRejected{Reason: domain.ReasonSoldOut})

			if p := (<-polled).purchase(t, stdhttp.StatusOK); p.Reason != "sold_out" {
				t.Errorf("the poll got %+v", p)
			}
			if e, ok := s.next(); !ok || e["event"] != "result" {
				t.Errorf("the stream goes on with %v", e)
			}
			if e, ok := s.next(); ok {
				t.Errorf("after the result comes %v", e)
			}
			if p, _ := receive(t.Context(), t, socket); p.Reason != "sold_out" {
				t.Errorf("the socket got %+v", p)
			}
			if _, code := receive(t.Context(), t, socket); code != websocket.StatusNormalClosure {
				t.Errorf("the socket is closed with %d", code)
			}
			c.get(t, "/purchases/"+id).is(t, stdhttp.StatusOK) // on a connection that had a stream, too
		})
	}
}

// A watcher who leaves a stream of HTTP/2 leaves nothing behind.
func TestServer_TLS_Leave(t *testing.T) {
	t.Parallel()
	certificate, config := certificateOf(t, valid(t, "seckill"))
	n := startNodeOn(t, postgrestest.New(t), nodeConfig{certificate: certificate, idle: true, tls: config})
	id := n.buy(t, n.sale(t, 10, 1), by("42")).RequestID
	ctx, leave := context.WithCancel(t.Context())
	for range 50 {
		n.follow(ctx, t, id).next()
	}
	eventually(t, "all wait", func() bool { return n.hub.Waiters(uuid.MustParse(id)) == 50 })
	leave()
	eventually(t, "all have left", func() bool { return n.hub.Waiters(uuid.MustParse(id)) == 0 })
}

func TestServer_TLS_Versions(t *testing.T) {
	t.Parallel()
	certificate, config := certificateOf(t, valid(t, "seckill"))
	c := serveTLS(t, newServerWith(t, http.Config{Certificate: certificate}), config)
	address := strings.TrimPrefix(c.base, "https://")
	for version, served := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		config := config.Clone()
		config.MinVersion, config.MaxVersion = version, version
		conn, err := tls.Dial("tcp", address, config)
		if (err == nil) != served {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if err == nil {
			_ = conn.Close()
		}
	}
}

// A client that connects and says nothing, or half of its hello, is cut off within seconds.
func TestServer_TLS_SlowHandshake(t *testing.T) {
	t.Parallel()
	certificate, config := certificateOf(t, valid(t, "seckill"))
	c := serveTLS(t, newServerWith(t, http.Config{Certificate: certificate}), config)
	for _, said := range []string{"", "\x16\x03\x01\x02\x00\x01"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.base, "https://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte(said)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_ = conn.SetReadDeadline(began.Add(soon))
		for err = nil; err == nil; { // an alert may come first
			_, err = conn.Read(make([]byte, 100))
		}
		if took := time.Since(began); took > 7*time.Second {
			t.Errorf("after %q it was cut off after %s, want 5s", said, took)
		}
	}
}
