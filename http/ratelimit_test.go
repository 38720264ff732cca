package http_test

import (
	"fmt"
	stdhttp "net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"seckill/http"
	"seckill/http/auth"
	"seckill/postgres/postgrestest"
)

// seldom is a limit of which nothing comes back within a test; ten may be asked at once.
const seldom = 0.001

// requireQuota fails the test unless an answer says how the caller stands.
func (a answer) requireQuota(t *testing.T, name string, remaining int) {
	t.Helper()
	if got, want := a.header.Get("RateLimit-Policy"), fmt.Sprintf(`"%s";q=10;w=10000`, name); got != want {
		t.Errorf("RateLimit-Policy is %s, want %s", got, want)
	}
	if got, want := a.header.Get("RateLimit"), fmt.Sprintf(`"%s";r=%d;t=`, name, remaining); !strings.HasPrefix(got, want) {
		t.Errorf("RateLimit is %s, want %s…", got, want)
	}
}

// A user can buy and ask so often; nobody else notices.
func TestRateLimits_PerUser(t *testing.T) {
	t.Parallel()
	n := startGuarded(t, nodeConfig{idle: true, rateLimits: http.RateLimits{SubmitsPerUser: seldom, PollsPerUser: seldom}})
	sale := n.sale(t, 100, 100)
	ann, bob := bearer(t, "ann", auth.Buyer), bearer(t, "bob", auth.Buyer)
	var id string
	for i := range 9 {
		a := n.post(t, purchases(sale), `{}`, ann)
		a.requireQuota(t, "user", 9-i)
		id = a.purchase(t, 202).RequestID
	}
	n.post(t, "/seckill/submit", fmt.Sprintf(`{"goodsId":%d}`, sale), ann).envelope(t, 202)
	before := n.written(t)
	a := n.post(t, purchases(sale), `{}`, ann)
	a.problem(t, 429, "rate_limited")
	a.requireQuota(t, "user", 0)
	if got := a.header.Get("Retry-After"); got != "1000" {
		t.Errorf("Retry-After is %s, want 1000", got)
	}
	n.post(t, "/seckill/submit", fmt.Sprintf(`{"goodsId":%d}`, sale), ann).refusal(t, 429)
	if after := n.written(t); after != before {
		t.Errorf("it wrote something:\nbefore %s\nafter  %s", before, after)
	}
	n.post(t, purchases(sale), `{}`, bob).purchase(t, 202)

	for range 9 {
		n.get(t, "/purchases/"+id, ann).purchase(t, 200)
	}
	n.get(t, "/purchases/"+id+"?wait=1s", ann).purchase(t, 200) // a long poll counts once
	n.get(t, "/purchases/"+id, ann).problem(t, 429, "rate_limited")
	n.get(t, "/seckill/result/"+id, ann).refusal(t, 429)
	n.follow(t.Context(), t, id, ann).next() // streams are bounded by themselves
	n.get(t, "/sales", ann).is(t, 200)
}

// An address can buy so often, in whatever names; this machine's own can as often as
// they like, and in trust mode a user is only a name.
func TestRateLimits_PerAddress(t *testing.T) {
	t.Parallel()
	n := startNodeOn(t, postgrestest.New(t), nodeConfig{
		idle: true, proxies: loopback, rateLimits: http.RateLimits{SubmitsPerUser: seldom, SubmitsPerAddress: seldom, PollsPerAddress: seldom},
	})
	sale := n.sale(t, 100, 100)
	for i := range 10 {
		n.post(t, purchases(sale), by(fmt.Sprint(i)), from("203.0.113.7")).requireQuota(t, "address", 9-i)
	}
	n.post(t, purchases(sale), by("10"), from("203.0.113.7")).problem(t, 429, "rate_limited")
	id := n.post(t, purchases(sale), by("10"), from("203.0.113.8")).purchase(t, 202).RequestID
	for range 10 {
		n.get(t, "/purchases/"+id, from("203.0.113.7")).is(t, 200)
	}
	n.get(t, "/purchases/"+id, from("203.0.113.7")).problem(t, 429, "rate_limited")
	for range 20 {
		a := n.post(t, purchases(sale), by("42"))
		a.is(t, 202)
		if got := a.header.Get("RateLimit"); got != "" {
			t.Errorf("RateLimit is %s where there is none", got)
		}
	}
}

// The entrance lets in what it lets in, and refuses the rest before it is accepted.
func TestRateLimits_Entrance(t *testing.T) {
	t.Parallel()
	n := startNodeOn(t, postgrestest.New(t), nodeConfig{idle: true, rateLimits: http.RateLimits{Entrance: seldom}})
	sale := n.sale(t, 100, 1)
	n.buy(t, sale, by("1"))
	n.writesNothing(t, func() {
		n.post(t, purchases(sale), by("2")).problem(t, 503, "overloaded")
		n.post(t, "/seckill/submit", fmt.Sprintf(`{"userId":"2","goodsId":%d}`, sale)).refusal(t, stdhttp.StatusServiceUnavailable)
	})
}

// Nodes share the entrance: a node's part grows and shrinks as others leave and come.
func TestEntrance_Share(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nodes := 4
		admits := http.NewEntrance(400, func() int { return nodes })
		perSecond := func() int {
			admitted := 0
			for range 1000 {
				if admits() {
					admitted++
				}
				time.Sleep(time.Millisecond)
			}
			return admitted
		}
		perSecond() // what it starts with
		for _, nodes = range []int{4, 2, 1, 8} {
			perSecond() // in which it notices
			if got, want := perSecond(), 400/nodes; got < want*95/100 || got > want*105/100 {
				t.Errorf("with %d nodes it admits %d a second, want %d", nodes, got, want)
			}
		}
	})
}

// A million callers take no more memory than those that are remembered (FAULTS 26).
func TestRateLimits_Memory(t *testing.T) {
	take := http.NewUserLimit(2)
	before := heap()
	for i := range 1_000_000 {
		take(fmt.Sprintf("user %d", i))
	}
	grown := heap() - before
	t.Logf("%d MB for a million users", grown>>20)
	if grown > 40<<20 {
		t.Errorf("a million users take %d MB", grown>>20)
	}
	if !take("user 999999") {
		t.Error("the last is refused at its second request")
	}
}
