package http_test

import (
	"context"
	stdhttp "net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// A server that stops lets whoever waits go, at once and with an answer: they
// come back to another node.
func TestServer_Shutdown(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	id := n.buy(t, n.sale(t, 10, 1), by("42")).RequestID
	answers := make([]answer, 40)
	var waiting sync.WaitGroup
	for i := range answers {
		waiting.Go(func() {
			address := []string{"/purchases/" + id + "?wait=30s", "/purchases/" + id + "/events", "/seckill/result/" + id + "?wait=30s"}[i%3]
			var err error
			if answers[i], err = n.try(t.Context(), stdhttp.MethodGet, address, ""); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "all wait", func() bool { return n.hub.Waiters(uuid.MustParse(id)) == len(answers) })

	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if err := n.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	waiting.Wait()
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %s, want at most 2s", took)
	}
	for i, a := range answers {
		a.is(t, stdhttp.StatusOK)
		if i%3 == 2 {
			continue
		}
		if p := lastOf(t, a); p.RequestID != id || p.Status != "processing" {
			t.Errorf("a waiter got %+v, want it as it stands", p)
		}
	}
	if _, err := n.try(t.Context(), stdhttp.MethodGet, "/healthz", ""); err == nil {
		t.Error("the server still answers")
	}
	if err := n.server.Shutdown(ctx); err != nil {
		t.Errorf("a second time: %v", err)
	}
}
