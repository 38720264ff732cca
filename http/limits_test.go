package http_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	stdhttp "net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// dial opens a connection to the server.
func (n *memoryNode) dial(t *testing.T) net.Conn {
	t.Helper()
	connection, err := n.listener.dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

// A caller who sends a body drop by drop does not keep a place for long.
func TestServer_SlowBody(t *testing.T) {
	t.Parallel()
	for address, envelope := range map[string]bool{"/sales/1001/purchases": false, "/sales": false, "/seckill/submit": true} {
		t.Run(strings.ReplaceAll(address, "/", "_"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				connection := startMemoryNode(t).dial(t)
				began := time.Now()
				if _, err := fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\n{", address); err != nil {
					t.Fatal(err)
				}
				response, err := stdhttp.ReadResponse(bufio.NewReader(connection), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				if got := time.Since(began); got != 5*time.Second {
					t.Errorf("it was answered after %s, want 5s", got)
				}
				body, err := io.ReadAll(response.Body)
				if err != nil {
					t.Fatal(err)
				}
				a := answer{status: response.StatusCode, header: response.Header, body: body}
				if envelope {
					a.refusal(t, stdhttp.StatusBadRequest)
				} else {
					a.problem(t, stdhttp.StatusRequestTimeout, "request_timeout")
				}
			})
		})
	}
}

// A connection that never asks for anything is closed.
func TestServer_SlowHeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		connection := startMemoryNode(t).dial(t)
		began := time.Now()
		if _, err := io.WriteString(connection, "GET /healthz HTTP/1.1\r\nHost:"); err != nil {
			t.Fatal(err)
		}
		if _, err := connection.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("got %v, want the end", err)
		}
		if got := time.Since(began); got != 5*time.Second {
			t.Errorf("it was closed after %s, want 5s", got)
		}
	})
}

func TestServer_HeaderTooLarge(t *testing.T) {
	t.Parallel()
	n := serve(t, newServer(t, newHub()))
	response, err := n.send(t.Context(), stdhttp.MethodGet, "/healthz", "", "Prefer: "+strings.Repeat("x", 64<<10))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != stdhttp.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("got %d, want 431", response.StatusCode)
	}
}
