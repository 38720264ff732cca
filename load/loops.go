package load

import (
	"context"
	"math"
	"sync"
	"time"
)

// shortest is how much of a wait is left to nap, at the end.
const shortest = 2 * time.Millisecond

// closedLoop lets a fixed number of buyers buy, each as soon as it is done with
// the purchase before, until ctx ends or no purchase is left to begin. Purchases
// under way are seen through, within calls.
func (r *run) closedLoop(ctx, calls context.Context) {
	var buyers sync.WaitGroup
	for range r.cfg.Buyers {
		buyers.Go(func() {
			b := r.newBuyer()
			defer b.close()
			for ctx.Err() == nil && r.begin() {
				pause := b.buy(calls, time.Now())
				sleep(ctx, max(pause, r.cfg.Think))
			}
		})
	}
	buyers.Wait()
}

// openLoop begins purchases when they are due, counting from start, whatever
// became of those before.
func (r *run) openLoop(ctx, calls context.Context, start time.Time) {
	var purchases sync.WaitGroup
	var idle idleBuyers
	defer idle.close()
	places := make(chan struct{}, r.cfg.MaxInFlight)
	arrivals := arrivals{rate: r.cfg.Rate, ramp: r.cfg.Ramp}
	end, bounded := ctx.Deadline()

	n := int64(0)
	for ; r.begin(); n++ {
		due := start.Add(arrivals.due(n))
		if bounded && due.After(end) || !sleepUntil(calls, due) || !enter(ctx, places) {
			break
		}
		purchases.Go(func() {
			b := idle.get(r)
			b.buy(calls, due)
			idle.put(b)
			<-places
		})
	}
	ended := time.Now()
	if bounded && ended.After(end) {
		ended = end
	}
	r.countUnsent(arrivals, n, ended.Sub(start))
	purchases.Wait()
}

// countUnsent counts purchases that were due before the end and had no place to
// leave from, so that their waiting is not lost with them.
func (r *run) countUnsent(arrivals arrivals, sent int64, end time.Duration) {
	for n := sent; (r.cfg.Requests == 0 || n < r.cfg.Requests) && arrivals.due(n) < end; n++ {
		r.meter.failed("never sent: too many were in flight")
	}
}

// sleepUntil reports whether it slept to the end.
func sleepUntil(ctx context.Context, due time.Time) bool {
	if !sleep(ctx, time.Until(due)-shortest) {
		return false
	}
	nap(time.Until(due))
	return true
}

// idleBuyers are those whose purchase is done. The one who was busy last buys
// next, so that its connection is fresh.
type idleBuyers struct {
	mu     sync.Mutex
	buyers []*buyer
}

func (i *idleBuyers) get(r *run) *buyer {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.buyers) == 0 {
		return r.newBuyer()
	}
	last := len(i.buyers) - 1
	b := i.buyers[last]
	i.buyers = i.buyers[:last]
	return b
}

func (i *idleBuyers) put(b *buyer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.buyers = append(i.buyers, b)
}

func (i *idleBuyers) close() {
	for _, b := range i.buyers {
		b.close()
	}
}

// enter takes a place. It returns false if there is none before ctx ends.
func enter(ctx context.Context, places chan<- struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
	}
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// arrivals says when the purchases of an open loop are due.
type arrivals struct {
	rate float64 // per second
	ramp time.Duration
}

// due is when the nth purchase, from 0, is due after the beginning. While the
// rate rises evenly, n grows with the square of the time.
func (a arrivals) due(n int64) time.Duration {
	ramp := a.ramp.Seconds()
	ramped := a.rate * ramp / 2 // purchases before the full rate is reached
	var seconds float64
	if float64(n) < ramped {
		seconds = math.Sqrt(2 * float64(n) * ramp / a.rate)
	} else {
		seconds = ramp + (float64(n)-ramped)/a.rate
	}
	return time.Duration(seconds * float64(time.Second))
}
