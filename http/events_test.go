package http_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	stdhttp "net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"seckill/domain"
)

// stream is an open answer of server-sent events.
type stream struct {
	body   io.ReadCloser
	lines  *bufio.Scanner
	header stdhttp.Header
}

// event is a server-sent event by its fields. A comment has the name "".
type event map[string]string

// follow opens the stream of a request, which ends with the context or the test.
func (c *client) follow(ctx context.Context, t *testing.T, requestID string, headers ...string) *stream {
	t.Helper()
	return c.openStream(ctx, t, "/purchases/"+requestID+"/events", headers...)
}

// openStream opens the stream at an address.
func (c *client) openStream(ctx context.Context, t *testing.T, path string, headers ...string) *stream {
	t.Helper()
	response, err := c.send(ctx, stdhttp.MethodGet, path, "", headers...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != stdhttp.StatusOK {
		t.Fatalf("the stream answered %d", response.StatusCode)
	}
	return &stream{body: response.Body, lines: bufio.NewScanner(response.Body), header: response.Header}
}

// next returns the next event, and false at the end of the stream.
func (s *stream) next() (event, bool) {
	e := event{}
	for s.lines.Scan() {
		line := s.lines.Text()
		if line == "" {
			return e, true
		}
		name, value, _ := strings.Cut(line, ": ")
		e[name] = value
	}
	return nil, false
}

// until reads the stream to its end and returns its last event.
func (s *stream) until(t *testing.T) event {
	t.Helper()
	var last event
	for {
		e, ok := s.next()
		if !ok {
			return last
		}
		last = e
	}
}

// The whole exchange, byte by byte: what is so at once, the result when it is
// decided, then the end.
func TestServer_FollowPurchase(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	accepted := n.post(t, purchases(n.sale(t, 10, 1)), by("42"))
	id := accepted.purchase(t, stdhttp.StatusAccepted).RequestID

	s := n.follow(t.Context(), t, id)
	for name, want := range map[string]string{
		"Cache-Control":          "no-store",
		"Content-Type":           "text/event-stream",
		"X-Content-Type-Options": "nosniff",
	} {
		if got := s.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	first := fmt.Sprintf("id: 1\ndata: %s\nevent: processing\nretry: 1000\n\n", strings.TrimSpace(string(accepted.body)))
	got := make([]byte, len(first))
	if _, err := io.ReadFull(s.body, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, string(got)); diff != "" {
		t.Errorf("at once (-want +got):\n%s", diff)
	}

	n.decide(t, uuid.MustParse(id), domain.PurchaseConfirmed{
		OrderID: "7K4-M29-QXP", Quantity: 1, Amount: 199_900, Currency: "CNY", PayBy: time.Date(2026, 11, 11, 0, 15, 0, 1000, time.UTC),
	})
	rest, err := io.ReadAll(s.body)
	if err != nil {
		t.Fatal(err)
	}
	polled := n.get(t, "/purchases/"+id).is(t, stdhttp.StatusOK)
	second := fmt.Sprintf("id: 2\ndata: %s\nevent: result\n\n", strings.TrimSpace(string(polled.body)))
	if diff := cmp.Diff(second, string(rest)); diff != "" {
		t.Errorf("at the decision (-want +got):\n%s", diff)
	}
}

// Who comes after the result is told at once, and only that.
func TestServer_FollowPurchase_Decided(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	id := n.buy(t, n.sale(t, 10, 1), by("<Ann> & 秒杀")).RequestID
	want := n.result(t, id)

	s := n.follow(t.Context(), t, id)
	result, ok := s.next()
	if !ok {
		t.Fatal("the stream ended without an event")
	}
	if result["id"] != "2" || result["event"] != "result" || result["retry"] != "" {
		t.Errorf("got %v, want the result with the id 2", result)
	}
	var got purchase
	answer{body: []byte(result["data"])}.into(t, &got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pushed is another than polled (-polled +pushed):\n%s", diff)
	}
	if more, ok := s.next(); ok {
		t.Errorf("the stream goes on with %v", more)
	}
}

// What a client that comes back has seen decides what it gets.
func TestServer_FollowPurchase_LastEventID(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	id := n.buy(t, n.sale(t, 10, 1), by("42")).RequestID
	n.result(t, id)
	for seen, again := range map[string]bool{"1": true, "0": true, "abc": true, "-2": true, "2": false, "3": false, "99": false} {
		t.Run(seen, func(t *testing.T) {
			t.Parallel()
			a := n.get(t, "/purchases/"+id+"/events", "Last-Event-ID: "+seen)
			if !again {
				a.is(t, stdhttp.StatusNoContent)
				if len(a.body) > 0 {
					t.Errorf("it has a body: %s", a.body)
				}
				if got := a.header.Get("Cache-Control"); got != "no-store" {
					t.Errorf("Cache-Control is %q", got)
				}
				return
			}
			a.is(t, stdhttp.StatusOK)
			if !strings.HasPrefix(string(a.body), "id: 2\n") {
				t.Errorf("got %s, want the result again", a.body)
			}
		})
	}
}

func TestServer_FollowPurchase_Language(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	id := n.buy(t, n.sale(t, 1, 1), by("42")).RequestID
	e := n.follow(t.Context(), t, id, "Accept-Language: zh-CN").until(t)
	if !strings.Contains(e["data"], "抢购成功") {
		t.Errorf("got %v, want it in Chinese", e)
	}
}

// A silent stream says every 15 seconds that it is alive, and is told the result
// at the moment of the decision all the same.
func TestServer_FollowPurchase_Heartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := startMemoryNode(t)
		accepted := n.accept()
		began := time.Now()
		time.AfterFunc(40*time.Second, func() { n.soldOut(accepted.RequestID) })
		s := n.follow(t.Context(), t, accepted.RequestID.String())
		for _, want := range []struct {
			after time.Duration
			field string
			value string
		}{
			{0, "event", "processing"},
			{15 * time.Second, "", "alive"},
			{30 * time.Second, "", "alive"},
			{40 * time.Second, "event", "result"},
		} {
			e, ok := s.next()
			if !ok || e[want.field] != want.value {
				t.Fatalf("got %v, want %q", e, want.value)
			}
			if got := time.Since(began); got != want.after {
				t.Errorf("%q came after %s, want %s", want.value, got, want.after)
			}
		}
		if e, ok := s.next(); ok {
			t.Errorf("the stream goes on with %v", e)
		}
	})
}

// One reader that stalls is cut off; the others of the same request notice
// nothing, and neither does the request (FAULTS 24).
func TestServer_FollowPurchase_StalledReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := startMemoryNode(t)
		id := n.accept().RequestID
		began := time.Now()
		stalled := n.dial(t)
		if _, err := fmt.Fprintf(stalled, "GET /purchases/%s/events HTTP/1.1\r\nHost: memory\r\n\r\n", id); err != nil {
			t.Fatal(err)
		}
		reader := n.follow(t.Context(), t, id.String())
		synctest.Wait()
		if got := n.hub.Waiters(id); got != 2 {
			t.Fatalf("%d wait, want 2", got)
		}
		time.AfterFunc(3*time.Second, func() { n.soldOut(id) })

		if e := reader.until(t); e["event"] != "result" {
			t.Errorf("the other reader got %v", e)
		}
		if got := time.Since(began); got != 3*time.Second {
			t.Errorf("the other reader was told after %s, want 3s", got)
		}
		time.Sleep(10 * time.Second)
		if _, err := stalled.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("reading on after the stall: %v, want the end: it should have been cut off", err)
		}
	})
}

// A reader that reads the first event and then stalls is cut off as soon as
// there is something to say that it does not take.
func TestServer_FollowPurchase_StallsLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := startMemoryNode(t)
		id := n.accept().RequestID
		s := n.follow(t.Context(), t, id.String())
		if e, ok := s.next(); !ok || e["event"] != "processing" {
			t.Fatalf("got %v", e)
		}
		time.Sleep(15*time.Second + 4*time.Second)
		synctest.Wait()
		if got := n.hub.Waiters(id); got != 1 {
			t.Errorf("%d wait 4 s after the comment that was not read, want 1", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := n.hub.Waiters(id); got != 0 {
			t.Errorf("%d wait 6 s after the comment that was not read, want none", got)
		}
	})
}

// lastOf is the purchase that a long poll answers, or that a stream ends with.
func lastOf(t *testing.T, a answer) purchase {
	t.Helper()
	body := a.body
	if strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
		for line := range strings.Lines(string(a.body)) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				body = []byte(data)
			}
		}
	}
	var p purchase
	answer{body: body}.into(t, &p)
	return p
}

// A stream that has been silent for long ends properly when the server stops: its
// client comes back to another node instead of seeing a broken connection.
func TestServer_FollowPurchase_EndsWithTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := startMemoryNode(t)
		s := n.follow(t.Context(), t, n.accept().RequestID.String())
		if e, ok := s.next(); !ok || e["event"] != "processing" {
			t.Fatalf("got %v", e)
		}
		time.Sleep(10 * time.Second)
		stopped := make(chan error, 1)
		go func() { stopped <- n.server.Shutdown(context.Background()) }()
		if e, ok := s.next(); ok {
			t.Errorf("the stream goes on with %v", e)
		}
		if err := s.lines.Err(); err != nil {
			t.Errorf("the stream broke off: %v", err)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}
