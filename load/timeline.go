package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// timelineDigits is enough to draw, and keeps a histogram small.
const timelineDigits = 2

// Second is what happened in one second of the measurement. Latencies are in
// milliseconds, from the moment a purchase was due.
type Second struct {
	Second    int     `json:"second"`
	Accepted  int64   `json:"accepted"`
	Told      int64   `json:"told"`
	Errors    int64   `json:"errors"`
	AcceptP50 float64 `json:"acceptP50Ms"`
	AcceptP99 float64 `json:"acceptP99Ms"`
	ToldP50   float64 `json:"toldP50Ms"`
	ToldP99   float64 `json:"toldP99Ms"`
}

// timeline cuts the measurement into seconds. Only the current one is open: what
// completes on its edge may be counted in the one after.
type timeline struct {
	begin   time.Time
	current Second
	accept  *hdrhistogram.Histogram
	total   *hdrhistogram.Histogram
	seconds []Second
}

func newTimeline(begin time.Time) timeline {
	return timeline{
		begin:  begin,
		accept: newHistogram(timelineDigits),
		total:  newHistogram(timelineDigits),
	}
}

func (t *timeline) accepted(now time.Time, took time.Duration) {
	t.advance(now)
	t.current.Accepted++
	record(t.accept, took)
}

func (t *timeline) told(now time.Time, took time.Duration) {
	t.advance(now)
	t.current.Told++
	record(t.total, took)
}

func (t *timeline) failed(now time.Time) {
	t.advance(now)
	t.current.Errors++
}

// advance closes every second before that moment's.
func (t *timeline) advance(now time.Time) {
	for second := int(now.Sub(t.begin) / time.Second); t.current.Second < second; {
		t.flush()
	}
}

// flush closes the current second and opens the next.
func (t *timeline) flush() {
	s := t.current
	s.AcceptP50, s.AcceptP99 = quantile(t.accept, 50), quantile(t.accept, 99)
	s.ToldP50, s.ToldP99 = quantile(t.total, 50), quantile(t.total, 99)
	t.seconds = append(t.seconds, s)
	t.current = Second{Second: s.Second + 1}
	t.accept.Reset()
	t.total.Reset()
}
