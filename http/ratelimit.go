package http

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// RateLimits bound how often one caller may ask, per second; 0 is no bound. Users are
// bounded where it is known who calls, and addresses except this machine's own, from
// which a proxy connects for everybody.
type RateLimits struct {
	SubmitsPerUser, SubmitsPerAddress float64
	PollsPerUser, PollsPerAddress     float64
	// Entrance is how many purchases all nodes together take in, and Nodes how many
	// nodes there are: each takes its share.
	Entrance float64
	Nodes    func() int
}

const (
	// minBurst is how often a caller may ask at once after a pause; where the limit is
	// high, as often as in two seconds.
	minBurst = 10
	// limitedKeys is how many callers each limit remembers, at some 300 bytes each. Of
	// more the one that has been silent for longest begins anew.
	limitedKeys = 65_536
)

// rateLimits are the limits of a node.
type rateLimits struct {
	submits, polls callerLimits
	entrance       *entrance // nil: no bound
}

type callerLimits struct {
	users     *keyedLimit[string]
	addresses *keyedLimit[netip.Prefix]
}

func newRateLimits(bounds RateLimits) *rateLimits {
	return &rateLimits{
		submits:  callerLimits{newKeyedLimit[string]("user", bounds.SubmitsPerUser), newKeyedLimit[netip.Prefix]("address", bounds.SubmitsPerAddress)},
		polls:    callerLimits{newKeyedLimit[string]("user", bounds.PollsPerUser), newKeyedLimit[netip.Prefix]("address", bounds.PollsPerAddress)},
		entrance: newEntrance(bounds.Entrance, bounds.Nodes),
	}
}

// take counts a request of the caller. It writes into the header how the caller stands
// (draft-ietf-httpapi-ratelimit-headers-10), and returns a problem for one too many.
func (l *callerLimits) take(ctx context.Context, header http.Header) *Problem {
	var quota quota
	if caller, on := callerOf(ctx); on && !caller.Anonymous() {
		quota = l.users.take(caller.User)
	}
	if network := networkOf(clientAddress(ctx)); network.IsValid() {
		quota = quota.tighter(l.addresses.take(network))
	}
	if quota.policy == "" {
		return nil
	}
	header.Set("RateLimit-Policy", quota.policy)
	header.Set("RateLimit", fmt.Sprintf("%q;r=%d;t=%d", quota.name, quota.remaining, quota.reset))
	if quota.ok {
		return nil
	}
	p := problem("rate_limited")
	p.retryAfter = quota.reset
	return p
}

// quota is how a caller stands with a limit; the zero one has none.
type quota struct {
	name, policy string
	ok           bool
	remaining    int
	reset        int // seconds until one more may be asked, or until all may
}

// tighter is the one of two that leaves less.
func (q quota) tighter(other quota) quota {
	switch {
	case q.policy == "", other.policy != "" && (!other.ok || q.ok && other.remaining < q.remaining):
		return other
	default:
		return q
	}
}

// keyedLimit is a token bucket for each key.
type keyedLimit[K comparable] struct {
	name    string
	policy  string
	rate    rate.Limit
	burst   int
	buckets *lru.Cache[K, *rate.Limiter]
}

// newKeyedLimit returns nil where there is no bound.
func newKeyedLimit[K comparable](name string, perSecond float64) *keyedLimit[K] {
	if perSecond <= 0 {
		return nil
	}
	buckets, err := lru.New[K, *rate.Limiter](limitedKeys)
	if err != nil {
		panic(err) // the size is right
	}
	l := &keyedLimit[K]{name: name, rate: rate.Limit(perSecond), burst: max(minBurst, int(2*perSecond)), buckets: buckets}
	l.policy = fmt.Sprintf("%q;q=%d;w=%d", name, l.burst, l.seconds(float64(l.burst)))
	return l
}

func (l *keyedLimit[K]) take(key K) quota {
	if l == nil {
		return quota{}
	}
	bucket, ok := l.buckets.Get(key)
	if !ok {
		bucket = rate.NewLimiter(l.rate, l.burst)
		if first, raced, _ := l.buckets.PeekOrAdd(key, bucket); raced {
			bucket = first
		}
	}
	now := time.Now()
	q := quota{name: l.name, policy: l.policy}
	q.ok = bucket.AllowN(now, 1)
	tokens := bucket.TokensAt(now)
	q.remaining = max(0, int(tokens))
	if q.ok {
		q.reset = l.seconds(float64(l.burst) - tokens)
	} else {
		q.reset = l.seconds(1 - tokens)
	}
	return q
}

// seconds is how long so many tokens take, rounded up.
func (l *keyedLimit[K]) seconds(tokens float64) int {
	return max(1, int(math.Ceil(tokens/float64(l.rate))))
}

// limitSubmits and limitPolls are what stands before an operation that is bounded.
func (s *Server) limitSubmits(ctx huma.Context, next func(huma.Context)) {
	s.limited(ctx, next, s.admitSubmit)
}

func (s *Server) limitPolls(ctx huma.Context, next func(huma.Context)) {
	s.limited(ctx, next, s.rateLimits.polls.take)
}

func (s *Server) limited(ctx huma.Context, next func(huma.Context), take func(context.Context, http.Header) *Problem) {
	_, w := humago.Unwrap(ctx)
	if p := take(ctx.Context(), w.Header()); p != nil {
		p.write(w)
		return
	}
	next(ctx)
}

// admitSubmit counts a purchase of the caller, and of all.
func (s *Server) admitSubmit(ctx context.Context, header http.Header) *Problem {
	if p := s.rateLimits.submits.take(ctx, header); p != nil {
		return p
	}
	if !s.rateLimits.entrance.admits() {
		return problem("overloaded")
	}
	return nil
}

// rateLimitHeaders documents what limited answers carry.
func rateLimitHeaders(op huma.Operation) huma.Operation {
	for status, response := range op.Responses {
		if code, err := strconv.Atoi(status); err != nil || code >= http.StatusBadRequest && code != http.StatusTooManyRequests {
			continue
		}
		if response.Headers == nil {
			response.Headers = make(map[string]*huma.Param)
		}
		response.Headers["RateLimit-Policy"] = &huma.Param{
			Description: "How often the caller may ask: q times in w seconds. Absent where there is no bound.",
			Schema:      &huma.Schema{Type: huma.TypeString}, Example: `"user";q=10;w=5`,
		}
		response.Headers["RateLimit"] = &huma.Param{
			Description: "How often the caller may still ask (r), and for how many seconds that counts (t).",
			Schema:      &huma.Schema{Type: huma.TypeString}, Example: `"user";r=9;t=1`,
		}
	}
	return op
}
