package purchasing

import "time"

// reading is one look at the database's clock, bounded by this node's monotonic
// clock: the database showed the time somewhere between before and after. A wrong
// wall clock on the node does no harm.
type reading struct {
	shown         time.Time
	before, after time.Time
}

// earliest and latest bound the database's time at a later moment of this node.
func (r reading) earliest(now time.Time) time.Time { return r.shown.Add(now.Sub(r.after)) }
func (r reading) latest(now time.Time) time.Time   { return r.shown.Add(now.Sub(r.before)) }
