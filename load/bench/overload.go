package bench

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"seckill/load"
)

const (
	// watchEvery is how often the server is asked how far it is behind.
	watchEvery = 250 * time.Millisecond
	// watchTimeout bounds one look.
	watchTimeout = 2 * time.Second
)

// Overload is what a server did when it was offered more than it can decide. What
// it refused is no error.
type Overload struct {
	Offered          float64 // purchases per second
	DecidedPerSecond float64
	OldestSeconds    float64 // how long a purchase waited for its decision, at most
	Report           *load.Report
}

// overload offers purchases at a rate. Nobody follows theirs, so that the machine
// is the server's; the server says itself how many it decides and how old the
// oldest undecided one is.
func (c *Config) overload(ctx context.Context, server *Server, rate float64) (*Overload, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var watcher sync.WaitGroup
	var seen watched
	watcher.Go(func() { seen = watch(watching, server.URL) })
	report, err := c.load(ctx, server, load.Config{
		Duration: c.OpenDuration,
		Follow:   load.FollowNone,
		Rate:     rate,
		Warmup:   c.OpenWarmup,
	})
	stop()
	watcher.Wait()
	if err != nil {
		return nil, err
	}
	if seen.err != nil {
		return nil, fmt.Errorf("watch the overload: %w", seen.err)
	}
	return &Overload{Offered: rate, DecidedPerSecond: seen.decidedPerSecond, OldestSeconds: seen.oldest, Report: report}, nil
}

// watched is what a server said while it was watched.
type watched struct {
	decidedPerSecond float64 // while it decided at all
	oldest           float64
	err              error
}

// watch looks at a server's metrics until the context ends.
func watch(ctx context.Context, base string) watched {
	var w watched
	var first, last time.Time
	var decidedFirst, decidedLast float64
	for {
		families, err := metrics(ctx, base)
		now := time.Now()
		if err != nil && ctx.Err() == nil {
			w.err = err
			return w
		}
		if err == nil {
			w.oldest = max(w.oldest, sum(families["seckill_oldest_undecided_seconds"]))
			decided := sum(families["seckill_purchases_decided_total"])
			switch {
			case first.IsZero():
				first, decidedFirst, last, decidedLast = now, decided, now, decided
			case decided == decidedFirst:
				first, last = now, now // it has not begun
			case decided > decidedLast:
				last, decidedLast = now, decided
			}
		}
		select {
		case <-ctx.Done():
			if last.After(first) {
				w.decidedPerSecond = (decidedLast - decidedFirst) / last.Sub(first).Seconds()
			}
			return w
		case <-time.After(watchEvery):
		}
	}
}

func metrics(ctx context.Context, base string) (map[string]*dto.MetricFamily, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET /metrics: %s", answer.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(answer.Body)
}

// sum adds up a family's counters or gauges.
func sum(family *dto.MetricFamily) float64 {
	total := 0.0
	for _, metric := range family.GetMetric() {
		total += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
	}
	return total
}
