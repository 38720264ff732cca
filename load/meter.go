package load

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latencies are recorded in microseconds, to three digits.
const (
	lowest  = 1
	highest = int64(10 * time.Minute / time.Microsecond)
	digits  = 3
)

// meter counts and times what happens. Rates count what completes while the
// measurement lasts; latencies are those of purchases that were due in it,
// however late they complete.
type meter struct {
	begin, end time.Time // of the measurement; a zero end is not known yet

	mu       sync.Mutex
	counts   Progress
	accepted int64 // while measuring
	told     int64 // while measuring
	accept   *hdrhistogram.Histogram
	decide   *hdrhistogram.Histogram
	total    *hdrhistogram.Histogram
	lag      *hdrhistogram.Histogram
	outcomes map[string]int64
	errors   map[string]int64
	timeline timeline
}

func newMeter(begin, end time.Time) *meter {
	return &meter{
		begin:    begin,
		end:      end,
		accept:   newHistogram(digits),
		decide:   newHistogram(digits),
		total:    newHistogram(digits),
		lag:      newHistogram(digits),
		outcomes: make(map[string]int64),
		errors:   make(map[string]int64),
		timeline: newTimeline(begin),
	}
}

func newHistogram(digits int) *hdrhistogram.Histogram {
	return hdrhistogram.New(lowest, highest, digits)
}

// sent records a purchase at the moment it leaves, against when it was due.
func (m *meter) sent(due, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.Begun++
	if m.measured(due) {
		record(m.lag, now.Sub(due))
	}
}

// acceptedAt records a 202.
func (m *meter) acceptedAt(due, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.Accepted++
	if m.measuring(now) {
		m.accepted++
		m.timeline.accepted(now, now.Sub(due))
	}
	if m.measured(due) {
		record(m.accept, now.Sub(due))
	}
}

// toldAt records a result that reached the buyer who waited for it.
func (m *meter) toldAt(due, accepted, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.Told++
	if m.measuring(now) {
		m.told++
		m.timeline.told(now, now.Sub(due))
	}
	if m.measured(due) {
		record(m.decide, now.Sub(accepted))
		record(m.total, now.Sub(due))
	}
}

// outcome counts a result by its name, however it became known.
func (m *meter) outcome(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outcomes[name]++
}

// failed counts an error by its kind.
func (m *meter) failed(kind string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.Errors++
	m.errors[kind]++
	if now := time.Now(); m.measuring(now) {
		m.timeline.failed(now)
	}
}

// progress is the state of the counters.
func (m *meter) progress() Progress {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.counts
}

// finish ends the measurement, if it has not ended, and returns how long it was.
func (m *meter) finish(now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.end.IsZero() || now.Before(m.end) {
		m.end = now
	}
	m.timeline.flush()
	return max(m.end.Sub(m.begin), 0)
}

// measured reports whether a purchase due at that time is part of the
// measurement.
func (m *meter) measured(due time.Time) bool { return !due.Before(m.begin) }

// measuring reports whether the measurement lasts at that time.
func (m *meter) measuring(now time.Time) bool {
	return !now.Before(m.begin) && (m.end.IsZero() || now.Before(m.end))
}

func record(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(d.Microseconds(), lowest), highest)) // in range by construction
}

// Latency sums up a distribution, in milliseconds.
type Latency struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"meanMs"`
	P50   float64 `json:"p50Ms"`
	P90   float64 `json:"p90Ms"`
	P99   float64 `json:"p99Ms"`
	P999  float64 `json:"p999Ms"`
	Max   float64 `json:"maxMs"`
}

func summarize(h *hdrhistogram.Histogram) Latency {
	return Latency{
		Count: h.TotalCount(),
		Mean:  h.Mean() / 1e3,
		P50:   quantile(h, 50),
		P90:   quantile(h, 90),
		P99:   quantile(h, 99),
		P999:  quantile(h, 99.9),
		Max:   float64(h.Max()) / 1e3,
	}
}

func quantile(h *hdrhistogram.Histogram, q float64) float64 {
	return float64(h.ValueAtQuantile(q)) / 1e3
}
