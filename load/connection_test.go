package load

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestConnection(t *testing.T) {
	t.Parallel()

	type testBundle struct {
		conn   *connection
		opened *atomic.Int64
		url    string
	}
	setup := func(t *testing.T, handler http.HandlerFunc) *testBundle {
		t.Helper()
		opened := &atomic.Int64{}
		server := httptest.NewUnstartedServer(handler)
		server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				opened.Add(1)
			}
		}
		server.Start()
		t.Cleanup(server.Close)
		target, err := resolveTarget(t.Context(), server.URL, false)
		if err != nil {
			t.Fatal(err)
		}
		conn := target.newConnection()
		t.Cleanup(conn.close)
		return &testBundle{conn: conn, opened: opened, url: server.URL}
	}
	get := func(t *testing.T, b *testBundle, ctx context.Context) (*http.Response, error) {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		return b.conn.RoundTrip(req)
	}
	mustGet := func(t *testing.T, b *testBundle) *http.Response {
		t.Helper()
		resp, err := get(t, b, t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	long := bytes.Repeat([]byte("long "), 1<<16)
	answer := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(long) }

	t.Run("IsKept", func(t *testing.T) {
		t.Parallel()
		b := setup(t, answer)
		for range 3 {
			resp := mustGet(t, b)
			if body, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(body, long) {
				t.Fatalf("read %d bytes, %v", len(body), err)
			}
			resp.Body.Close()
		}
		if n := b.opened.Load(); n != 1 {
			t.Errorf("%d connections for 3 calls", n)
		}
	})

	t.Run("IsGivenUpUnread", func(t *testing.T) {
		t.Parallel()
		b := setup(t, answer)
		mustGet(t, b).Body.Close()
		if b.conn.conn != nil {
			t.Error("the connection is kept in the middle of an answer")
		}
		mustGet(t, b).Body.Close()
	})

	t.Run("IsGivenUpWhenTheServerCloses", func(t *testing.T) {
		t.Parallel()
		b := setup(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
		for range 2 {
			resp := mustGet(t, b)
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
	})

	t.Run("IsGivenUpAfterARest", func(t *testing.T) {
		t.Parallel()
		b := setup(t, func(http.ResponseWriter, *http.Request) {})
		for range 2 {
			resp := mustGet(t, b)
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			b.conn.rested = time.Now().Add(-2 * maxRest)
		}
		if n := b.opened.Load(); n != 2 {
			t.Errorf("%d connections for 2 calls with a rest between", n)
		}
	})

	t.Run("ObeysTheContext", func(t *testing.T) {
		t.Parallel()
		b := setup(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		resp, err := get(t, b, ctx)
		if err == nil {
			resp.Body.Close()
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("RoundTrip = %v", err)
		}
	})

	t.Run("ObeysTheContextInABody", func(t *testing.T) {
		t.Parallel()
		b := setup(t, func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := get(t, b, ctx)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
			t.Errorf("Read = %v", err)
		}
		resp.Body.Close()
	})
}

// TestConnection_TLS expects to get as far as not trusting the server.
func TestConnection_TLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	_, err := Run(t.Context(), Config{Target: server.URL})
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("Run = %v, want an error about the certificate", err)
	}
}
