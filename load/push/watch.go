package push

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"seckill/load"
)

const (
	// updateEvery is how often a watched sale changes, and watchFor for how long.
	updateEvery = 250 * time.Millisecond
	watchFor    = 20 * time.Second
	// watchEnd is how long the last update may take to arrive.
	watchEnd = 5 * time.Second
)

// Watching is what the watchers of one sale cost.
type Watching struct {
	Watchers int
	// Behind is how long after a change a watcher sees it, or a later one.
	Behind Latencies
	// Missed is how many watchers did not see the last state.
	Missed int
	// Cores is the server's CPU time per time; 1 is one core.
	Cores float64
	// PerSecond is how many updates reached a watcher, in all.
	PerSecond float64
	Bytes     int64 // of resident memory, by each
}

// Watch lets so many watch one sale that changes four times a second.
func Watch(ctx context.Context, server Server, watchers int) (*Watching, error) {
	c, err := newClient(server.URL)
	if err != nil {
		return nil, err
	}
	watched, err := c.createSale(ctx)
	if err != nil {
		return nil, err
	}
	to, err := c.link(fmt.Sprintf("/sales/%d/events", watched.ID))
	if err != nil {
		return nil, err
	}
	links := make([]*url.URL, watchers)
	for i := range links {
		links[i] = to
	}
	before, err := load.ReadUsage(strconv.Itoa(server.PID))
	if err != nil {
		return nil, err
	}
	all, err := gather(ctx, SSE, links)
	if err != nil {
		return nil, err
	}
	defer all.leave()
	audience := newAudience(len(all))
	all.listen(audience.heard)
	time.Sleep(settle)

	start, err := load.ReadUsage(strconv.Itoa(server.PID))
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := audience.change(ctx, c, watched.ID); err != nil {
		return nil, err
	}
	took := time.Since(began)
	end, err := load.ReadUsage(strconv.Itoa(server.PID))
	if err != nil {
		return nil, err
	}
	time.Sleep(watchEnd)
	result := audience.result()
	result.Cores = (end.CPU - start.CPU).Seconds() / took.Seconds()
	result.PerSecond /= took.Seconds()
	result.Bytes = (start.Resident - before.Resident) / int64(watchers)
	return result, nil
}

// audience notes when each watcher saw which state of a sale.
type audience struct {
	mu      sync.Mutex
	changes []change
	seen    [][]sighting // by watcher; each is written by its own goroutine only
}

// change is a state of the sale, and when it was known to be committed.
type change struct {
	revision int64
	at       time.Time
}

type sighting = change

func newAudience(watchers int) *audience {
	a := &audience{seen: make([][]sighting, watchers)}
	for i := range a.seen {
		a.seen[i] = make([]sighting, 0, 2*watchFor/updateEvery)
	}
	return a
}

func (a *audience) heard(watcher int, m message) {
	var s sale
	if json.Unmarshal(m.data, &s) == nil {
		a.mu.Lock()
		a.seen[watcher] = append(a.seen[watcher], sighting{s.Revision, m.at})
		a.mu.Unlock()
	}
}

// change changes the sale for as long as it is watched.
func (a *audience) change(ctx context.Context, c *client, saleID int64) error {
	tick := time.NewTicker(updateEvery)
	defer tick.Stop()
	for end := time.Now().Add(watchFor); time.Now().Before(end); <-tick.C {
		changed, err := c.addStock(ctx, saleID)
		if err != nil {
			return err
		}
		a.changes = append(a.changes, change{changed.Revision, time.Now()})
	}
	return nil
}

func (a *audience) result() *Watching {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := &Watching{Watchers: len(a.seen)}
	behind := newHistogram()
	for _, seen := range a.seen {
		next := 0
		for _, c := range a.changes {
			for next < len(seen) && seen[next].revision < c.revision {
				next++
			}
			if next == len(seen) {
				w.Missed++
				break
			}
			_ = behind.RecordValue(max(0, seen[next].at.Sub(c.at).Microseconds())) // it fits, by watchEnd
		}
		w.PerSecond += float64(len(seen))
	}
	w.Behind = latenciesOf(behind)
	return w
}
