package http_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log/slog"
	stdhttp "net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"seckill/http"
	"seckill/web"
)

func TestServer_TooLong(t *testing.T) {
	t.Parallel()
	n := serve(t, newServer(t, newHub()))
	long := strings.Repeat("x", 5<<10)

	n.get(t, "/sales?cursor="+long).problem(t, 414, "uri_too_long")
	n.get(t, "/"+long).problem(t, 414, "uri_too_long")
	n.do(t, stdhttp.MethodGet, "/seckill/result/"+long, "").refusal(t, 414)
	var large []string
	for i := range 5 {
		large = append(large, fmt.Sprintf("X-Flood-%d: %s", i, long))
	}
	n.get(t, "/healthz", large...).problem(t, 431, "headers_too_large")
	n.do(t, stdhttp.MethodGet, "/seckill/result/none", "", large...).refusal(t, 431)
	n.get(t, "/healthz", large[:3]...).is(t, 200)
}

// flood is a body that never ends before so many bytes, and counts what was taken.
type flood struct {
	left  int64
	taken atomic.Int64
}

func (f *flood) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), f.left)
	f.left -= n
	f.taken.Add(n)
	copy(p, bytes.Repeat([]byte(" "), int(n)))
	return int(n), nil
}

// A hundred megabytes are refused after some kilobytes, whether they are announced or
// not, and on addresses that read no body at all.
func TestServer_HugeBody(t *testing.T) {
	t.Parallel()
	n := serve(t, newServer(t, newHub()))
	for _, length := range []int64{100 << 20, -1} {
		for address, status := range map[string]int{"/sales": 413, "/seckill/submit": 413, "/sales/1001/none": 404} {
			body := &flood{left: 100 << 20}
			request, err := stdhttp.NewRequestWithContext(t.Context(), stdhttp.MethodPost, n.base+address, io.NopCloser(body))
			if err != nil {
				t.Fatal(err)
			}
			request.ContentLength = length
			request.Header.Set("Content-Type", "application/json")
			response, err := n.http.Do(request)
			switch {
			case err == nil:
				_ = response.Body.Close()
				if response.StatusCode != status {
					t.Errorf("%s answers %d, want %d", address, response.StatusCode, status)
				}
			case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
				// The server has answered and closed while the client was still writing.
			default:
				t.Fatal(err)
			}
			if taken := body.taken.Load(); taken > 8<<20 { // most of it in the buffers of the connection
				t.Errorf("%s took %d bytes", address, taken)
			}
		}
	}
}

// A body that does not arrive is not waited for where it is not read, either: the
// connection is closed.
func TestServer_SlowBody_Unread(t *testing.T) {
	t.Parallel()
	for _, request := range []string{"GET /healthz", "POST /none", "PUT /sales"} {
		t.Run(strings.ReplaceAll(request, "/", "_"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				connection := startMemoryNode(t).dial(t)
				began := time.Now()
				if _, err := fmt.Fprintf(connection, "%s HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\n{", request); err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, connection); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(began); got > 6*time.Second {
					t.Errorf("it was closed after %s, want some 5s", got)
				}
			})
		})
	}
}

// Who waits for a result with a body that has arrived is not cut off by its deadline.
func TestServer_BodyBeforeAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := startMemoryNode(t)
		p := n.accept()
		connection := n.dial(t)
		began := time.Now()
		if _, err := fmt.Fprintf(connection, "GET /seckill/result/%s?wait=20s HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n{}", p.RequestID); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(800*time.Millisecond, func() { n.soldOut(p.RequestID) })
		response, err := stdhttp.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil {
			t.Fatalf("after %s: %v", time.Since(began), err)
		}
		defer response.Body.Close()
		if body, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(body), `"failed"`) {
			t.Errorf("got %s, %v", body, err)
		}
	})
}

// A request has an ID, which is in the answer and in what is logged of it. A panic
// is logged under it; the client sees a connection that breaks, and nothing else.
func TestServer_RequestID(t *testing.T) {
	t.Parallel()
	var log journal
	n := serve(t, newServerWith(t, http.Config{Logger: slog.New(http.LogHandler{Handler: log.logger().Handler()})}))

	if got := n.get(t, "/healthz", "X-Request-Id: from-the-proxy/1").header.Get("X-Request-Id"); got != "from-the-proxy/1" {
		t.Errorf("the ID is %q", got)
	}
	first := n.get(t, "/healthz").header.Get("X-Request-Id")
	for _, unfit := range []string{"", strings.Repeat("x", 129), "two words", "tab\there", "抢购", "caf\xe9"} {
		if got := n.get(t, "/healthz", "X-Request-Id: "+unfit).header.Get("X-Request-Id"); got == unfit || got == first || len(got) < 20 {
			t.Errorf("of %q became %q", unfit, got)
		}
	}

	_, err := n.try(t.Context(), stdhttp.MethodGet, "/sales", "", "X-Request-Id: unlucky") // there is no database
	if !errors.Is(err, io.EOF) {
		t.Errorf("the client saw %v", err)
	}
	// Who gets no answer on a connection that was used before asks again by itself.
	eventually(t, "the panic is logged", func() bool { return log.count("msg=panicked") > 0 })
	if log.count("msg=panicked") != log.count("request=unlucky") || log.count("http/sales.go") == 0 {
		t.Error("the log does not say which request it was, or where")
	}
	n.get(t, "/healthz").is(t, 200)
}

// What is worth it is compressed for those who take it, and is the same then.
func TestServer_Compression(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	for range 20 {
		n.sale(t, 10, 1)
	}
	for _, path := range []string{"/", "/operator/", "/seckill.js", "/assets/" + web.Version + "/view.js", "/sales"} {
		plain := n.get(t, path, "Accept-Encoding: identity").is(t, 200)
		if plain.header.Get("Content-Encoding") != "" || !strings.Contains(plain.header.Get("Vary"), "Accept-Encoding") {
			t.Errorf("%s answers %v", path, plain.header)
		}
		if unwanted := n.get(t, path, "Accept-Encoding: br, gzip;q=0").header.Get("Content-Encoding"); unwanted != "" {
			t.Errorf("%s is compressed for one who does not take it", path)
		}
		packed, raw := n.packed(t, path)
		if packed.header.Get("Content-Encoding") != "gzip" || len(raw) > len(plain.body)*2/3 || packed.header.Get("Content-Type") != plain.header.Get("Content-Type") {
			t.Errorf("%s: %d bytes become %d %v", path, len(plain.body), len(raw), packed.header)
		}
		if path != "/sales" && !bytes.Equal(packed.body, plain.body) { // which has the time in it
			t.Errorf("%s is not the same", path)
		}
		tag := packed.header.Get("ETag")
		if path == "/sales" {
			continue
		}
		if tag == "" || tag == plain.header.Get("ETag") {
			t.Errorf("%s has the tags %s and %s", path, plain.header.Get("ETag"), tag)
		}
		a := n.get(t, path, "Accept-Encoding: gzip", "If-None-Match: "+tag).is(t, 304)
		if len(a.body) > 0 {
			t.Errorf("%s sends what is known", path)
		}
	}
}

// How long an answer is tells nothing where it holds what only one may know.
func TestServer_Compression_Never(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	sale := n.sale(t, 1000, 1000)
	id := n.buy(t, sale, by("42")).RequestID
	for range 20 {
		n.result(t, n.buy(t, sale, by("42")).RequestID)
	}
	for _, path := range []string{
		"/purchases/" + id, "/purchases/" + id + "/history", "/purchases?userId=42&saleId=" + fmt.Sprint(sale), "/orders?userId=42", "/me",
		"/purchases/" + id + "/events", "/seckill/result/" + id, "/none",
	} {
		a := n.get(t, path, "Accept-Encoding: gzip")
		if got := a.header.Get("Content-Encoding"); got != "" {
			t.Errorf("%s is encoded as %s", path, got)
		}
		if len(a.body) == 0 {
			t.Errorf("%s has nothing to compress", path)
		}
	}
}

// packed gets a page compressed, and returns it unpacked and as it came.
func (c *client) packed(t *testing.T, path string) (answer, []byte) {
	t.Helper()
	response, err := c.send(t.Context(), stdhttp.MethodGet, path, "", "Accept-Encoding: br, gzip")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	body, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return answer{status: response.StatusCode, header: response.Header, body: body}, raw
}

// A page runs no script but those of its own server, and is in no frame of another.
func TestServer_PagesAreGuarded(t *testing.T) {
	t.Parallel()
	n := serve(t, newServer(t, newHub()))
	for _, path := range []string{"/", "/operator/", "/docs/"} {
		header := n.get(t, path).is(t, 200).header
		policy := header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'self'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'", "object-src 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("the policy of %s is %q, without %s", path, policy, want)
			}
		}
		for directive := range strings.SplitSeq(policy, ";") {
			directive = strings.TrimSpace(directive)
			inline := strings.Contains(directive, "'unsafe-inline'") && (path != "/docs/" || !strings.HasPrefix(directive, "style-src"))
			if inline || strings.Contains(directive, "'unsafe-eval'") || strings.Contains(directive, "*") {
				t.Errorf("the policy of %s has %q", path, directive)
			}
		}
		if got := header.Get("Cross-Origin-Opener-Policy"); got != "same-origin" {
			t.Errorf("%s: Cross-Origin-Opener-Policy is %q", path, got)
		}
	}
	if got := n.get(t, "/healthz").header.Get("Strict-Transport-Security"); got != "" {
		t.Errorf("a server without TLS says %q of it", got)
	}
}
