package http_test

import (
	"strings"
	"testing"
	"time"

	"seckill/http"
	"seckill/postgres/postgrestest"
)

func TestServer_Health(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	eventually(t, "it listens", func() bool { return n.get(t, "/readyz").status == 200 })
	for _, path := range []string{"/healthz", "/readyz"} {
		if a := n.get(t, path).is(t, 200); strings.TrimSpace(string(a.body)) != `{"status":"ok"}` {
			t.Errorf("%s says %s", path, a.body)
		}
	}
}

// A node that does not hear of commits is alive but not ready: it would make
// buyers wait.
func TestServer_Ready_Deaf(t *testing.T) {
	t.Parallel()
	n := startNodeOn(t, postgrestest.New(t), nodeConfig{deaf: true, idle: true})
	n.get(t, "/healthz").is(t, 200)
	asked := time.Now()
	n.get(t, "/readyz").problem(t, 503, "unavailable")
	if waited := time.Since(asked); waited >= http.ReadyTimeout {
		t.Errorf("it says so after %s, want it to wait for nothing while nothing listens", waited)
	}
}

// A node whose database is gone says so, and answers what needs none.
func TestServer_Ready_WithoutDatabase(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 10, 1)
	n.buy(t, sale, by("42"))
	n.pools.Close()
	n.get(t, "/healthz").is(t, 200)
	n.get(t, "/readyz").problem(t, 503, "unavailable")
	n.get(t, "/sales").problem(t, 503, "unavailable")
	n.get(t, "/purchases/01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f").problem(t, 503, "unavailable")
	p := n.post(t, purchases(sale), by("43")).problem(t, 503, "unavailable")
	if len(p.RequestID) != 36 {
		t.Errorf("got the request ID %q, want one to ask for later: nobody knows whether it was taken in", p.RequestID)
	}
	if msg := n.post(t, "/seckill/submit", `{"userId":42,"goodsId":1001}`).refusal(t, 503); msg == "" {
		t.Error("msg is empty")
	}
}
