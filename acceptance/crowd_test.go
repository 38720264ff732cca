package acceptance_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// maxPressing is how many buyers of a crowd press the button at once. The others
// come when there is room: a machine that is slow gets them more slowly, instead of
// so many at once that nobody is served in time.
const maxPressing = 300

// crowd is many buyers who come one after the other at an even rate.
type crowd struct {
	begun  atomic.Int64
	buyers sync.WaitGroup
	room   chan struct{}
	size   int
}

// send lets the buyers come, evenly over a time if there is room for them. They leave
// at the latest when the test ends.
func (s *shop) send(t *testing.T, buyers []*buyer, over time.Duration) *crowd {
	t.Helper()
	c := &crowd{room: make(chan struct{}, maxPressing), size: len(buyers)}
	t.Cleanup(c.gone)
	ctx := t.Context()
	start := time.Now()
	c.buyers.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for next := 0; next < len(buyers); {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			due := int(min(1, float64(time.Since(start))/float64(over)) * float64(len(buyers)))
			for ; next < due; next++ {
				select {
				case <-ctx.Done():
					return
				case c.room <- struct{}{}:
				}
				b := buyers[next]
				c.buyers.Go(func() { b.buy(ctx, s, func() { <-c.room }) })
				c.begun.Add(1)
			}
		}
	})
	return c
}

// await waits until a share (0 to 1) of the buyers have come.
func (c *crowd) await(t *testing.T, share float64) {
	t.Helper()
	eventually(t, time.Minute, "the buyers come", func() bool {
		return float64(c.begun.Load()) >= share*float64(c.size)
	})
}

// gone waits until every buyer has come and left.
func (c *crowd) gone() { c.buyers.Wait() }
