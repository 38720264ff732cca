package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/go-json-experiment/json"

	"seckill/load"
)

const (
	// buyers submit at the same time.
	buyers = 64
	// heldPerSale is how many purchases one sale holds undecided: one batch.
	heldPerSale = 500
	// settle is how long what was opened may take to come to rest before memory
	// and queries are measured, and window how long queries are counted.
	settle = 5 * time.Second
	window = 10 * time.Second
	// tellLimit is how long the last may take to be told.
	tellLimit = 30 * time.Second
)

// Server is the service under measurement, a process of its own.
type Server struct {
	URL string
	PID int
	// Hold keeps a sale's purchases from being decided until Release.
	Hold    func(ctx context.Context, saleID int64) error
	Release func(ctx context.Context) error
}

// Waiting is what subscribers who wait for a result take.
type Waiting struct {
	Way         Way
	Subscribers int
	// Bytes is how much the server's resident memory grew by each.
	Bytes int64
	// Queries is how many queries for all who wait the server makes per second, and
	// QueryTime how long one takes on average, in milliseconds.
	Queries, QueryTime float64
	Told               Latencies
}

// Latencies are in milliseconds.
type Latencies struct {
	P50, P99, Max float64
}

// Wait opens so many subscribers, each to a purchase of its own, measures them
// while they wait, and then how long after its decision each is told when all are
// decided at once.
func Wait(ctx context.Context, server Server, way Way, subscribers int) (*Waiting, error) {
	c, err := newClient(server.URL)
	if err != nil {
		return nil, err
	}
	links, err := c.hold(ctx, server, way, subscribers)
	if err != nil {
		return nil, err
	}
	result := &Waiting{Way: way, Subscribers: subscribers}
	before, err := server.resident()
	if err != nil {
		return nil, err
	}
	all, err := gather(ctx, way, links)
	if err != nil {
		return nil, err
	}
	defer all.leave()
	told := all.await()
	time.Sleep(settle)
	if result.Queries, result.QueryTime, err = c.rechecks(ctx); err != nil {
		return nil, err
	}
	after, err := server.resident()
	if err != nil {
		return nil, err
	}
	result.Bytes = (after - before) / int64(subscribers)
	result.Told, err = told.release(ctx, server)
	return result, err
}

// Tell opens subscribers to the purchases of a single batch, as many to each, and
// measures how long after its decision each subscriber is told.
func Tell(ctx context.Context, server Server, way Way, subscribers int) (Latencies, error) {
	c, err := newClient(server.URL)
	if err != nil {
		return Latencies{}, err
	}
	links, err := c.hold(ctx, server, way, heldPerSale)
	if err != nil {
		return Latencies{}, err
	}
	for len(links) < subscribers {
		links = append(links, links[:min(heldPerSale, subscribers-len(links))]...)
	}
	all, err := gather(ctx, way, links)
	if err != nil {
		return Latencies{}, err
	}
	defer all.leave()
	told := all.await()
	time.Sleep(time.Second)
	return told.release(ctx, server)
}

// hold makes so many purchases that are not decided before the release, and returns
// where they are followed.
func (c *client) hold(ctx context.Context, server Server, way Way, purchases int) ([]*url.URL, error) {
	var links []*url.URL
	for len(links) < purchases {
		sale, err := c.createSale(ctx)
		if err != nil {
			return nil, err
		}
		if err := server.Hold(ctx, sale.ID); err != nil {
			return nil, fmt.Errorf("hold sale %d: %w", sale.ID, err)
		}
		more, err := c.fill(ctx, sale.ID, way, min(heldPerSale, purchases-len(links)))
		// A sale that is held for more than a second takes nothing more in.
		if err != nil && !errors.Is(err, errOverloaded) {
			return nil, err
		}
		links = append(links, more...)
	}
	return links, nil
}

func (c *client) fill(ctx context.Context, saleID int64, way Way, purchases int) ([]*url.URL, error) {
	var (
		buying sync.WaitGroup
		mu     sync.Mutex
		next   atomic.Int64
		links  []*url.URL
		failed error
	)
	for range buyers {
		buying.Go(func() {
			for {
				number := next.Add(1)
				if number > int64(purchases) {
					return
				}
				p, err := c.buy(ctx, saleID, strconv.FormatInt(number, 10))
				var link *url.URL
				if err == nil {
					to := p.Links.Events
					if way == WebSocket {
						to = p.Links.WS
					}
					link, err = c.link(to)
				}
				mu.Lock()
				if err != nil {
					failed = err
					next.Store(int64(purchases))
				} else {
					links = append(links, link)
				}
				mu.Unlock()
			}
		})
	}
	buying.Wait()
	return links, failed
}

// awaited is what each subscriber was told last.
type awaited struct {
	results []message
	ends    <-chan error
}

// await listens from now on: a client that does not is cut off.
func (c crowd) await() *awaited {
	a := &awaited{results: make([]message, len(c))}
	a.ends = c.listen(func(i int, m message) { a.results[i] = message{slices.Clone(m.data), m.at} })
	return a
}

// release lets everything be decided and measures how long after its decision each
// subscriber is told. It returns an error unless all are.
func (a *awaited) release(ctx context.Context, server Server) (Latencies, error) {
	if err := server.Release(ctx); err != nil {
		return Latencies{}, fmt.Errorf("release the sales: %w", err)
	}
	late := time.After(tellLimit)
	for i := range a.results {
		select {
		case err := <-a.ends:
			if !errors.Is(err, io.EOF) {
				return Latencies{}, fmt.Errorf("a subscriber was cut off: %w", err)
			}
		case <-late:
			return Latencies{}, fmt.Errorf("after %v %d of %d subscribers were not told", tellLimit, len(a.results)-i, len(a.results))
		}
	}
	h := newHistogram()
	for i, result := range a.results {
		var p purchase
		if err := json.Unmarshal(result.data, &p); err != nil {
			return Latencies{}, fmt.Errorf("subscriber %d was told %q: %w", i, result.data, err)
		}
		if p.Status != "succeeded" {
			return Latencies{}, fmt.Errorf("subscriber %d was told %q, want a success", i, p.Status)
		}
		_ = h.RecordValue(max(0, result.at.Sub(p.DecidedAt).Microseconds())) // it fits, by tellLimit
	}
	return latenciesOf(h), nil
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, (2 * tellLimit).Microseconds(), 3)
}

func latenciesOf(h *hdrhistogram.Histogram) Latencies {
	const µs = 1000.0
	return Latencies{
		P50: float64(h.ValueAtPercentile(50)) / µs,
		P99: float64(h.ValueAtPercentile(99)) / µs,
		Max: float64(h.Max()) / µs,
	}
}

// rechecks measures the queries by which the server looks for what was not told.
func (c *client) rechecks(ctx context.Context) (perSecond, milliseconds float64, err error) {
	countBefore, sumBefore, err := c.recheckTotals(ctx)
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	time.Sleep(window)
	count, sum, err := c.recheckTotals(ctx)
	if err != nil {
		return 0, 0, err
	}
	queries := count - countBefore
	return queries / time.Since(start).Seconds(), 1000 * (sum - sumBefore) / max(queries, 1), nil
}

// resident is the server's memory.
func (s Server) resident() (int64, error) {
	usage, err := load.ReadUsage(strconv.Itoa(s.PID))
	if err != nil {
		return 0, fmt.Errorf("read the server's memory (on %s): %w", runtime.GOOS, err)
	}
	return usage.Resident, nil
}
