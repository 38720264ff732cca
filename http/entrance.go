package http

import (
	"time"

	"golang.org/x/time/rate"
)

// entranceRefresh is how often a node looks at how many share the entrance.
const entranceRefresh = time.Second

// entrance bounds how many purchases a node takes in: its share of what all take in.
type entrance struct {
	all     float64
	nodes   func() int
	bucket  *rate.Limiter
	refresh *rate.Limiter
}

// newEntrance returns nil where there is no bound.
func newEntrance(perSecond float64, nodes func() int) *entrance {
	if perSecond <= 0 {
		return nil
	}
	e := &entrance{all: perSecond, nodes: nodes, refresh: rate.NewLimiter(rate.Every(entranceRefresh), 1)}
	e.bucket = rate.NewLimiter(e.share())
	return e
}

// admits counts one purchase, unless there are too many.
func (e *entrance) admits() bool {
	if e == nil {
		return true
	}
	if e.refresh.Allow() {
		limit, burst := e.share()
		e.bucket.SetLimit(limit)
		e.bucket.SetBurst(burst)
	}
	return e.bucket.Allow()
}

// share is the node's part per second, and what it lets in at once: what comes in a
// tenth of a second.
func (e *entrance) share() (limit rate.Limit, burst int) {
	perSecond := e.all / float64(max(1, e.nodes()))
	return rate.Limit(perSecond), max(1, int(perSecond/10))
}
