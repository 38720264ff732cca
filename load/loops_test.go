package load

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/load/noop"
)

func TestArrivals_Due(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		arrivals arrivals
		n        int64
		want     time.Duration
	}{
		{"First", arrivals{rate: 100}, 0, 0},
		{"Even", arrivals{rate: 100}, 250, 2500 * time.Millisecond},
		{"RampFirst", arrivals{rate: 100, ramp: 2 * time.Second}, 0, 0},
		{"RampQuarter", arrivals{rate: 100, ramp: 2 * time.Second}, 25, time.Second}, // half the time, a quarter of the purchases
		{"RampEnd", arrivals{rate: 100, ramp: 2 * time.Second}, 100, 2 * time.Second},
		{"AfterRamp", arrivals{rate: 100, ramp: 2 * time.Second}, 150, 2500 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := test.arrivals.due(test.n); got != test.want {
				t.Errorf("due(%d) = %v, want %v", test.n, got, test.want)
			}
		})
	}
}

// TestRun_OpenLoop_StallIsNotHidden stalls the server once. A generator that
// counted from when it sends would see one slow purchase; all those that were due
// meanwhile were slow.
func TestRun_OpenLoop_StallIsNotHidden(t *testing.T) {
	t.Parallel()
	const stall = 500 * time.Millisecond
	var once sync.Once
	report := mustRun(t, Config{
		Target:      serve(t, slowly(func() { once.Do(func() { time.Sleep(stall) }) })),
		Rate:        200,
		Requests:    100, // due within the stall
		MaxInFlight: 1,
	})
	if report.Accepted != 100 {
		t.Fatalf("%d of 100 were accepted: %v", report.Accepted, report.Errors)
	}
	// The purchases were due evenly over the stall, so half of them waited for more
	// than half of it.
	if got := milliseconds(report.Accept.P50); got < stall/3 {
		t.Errorf("accept p50 is %v after a stall of %v", got, stall)
	}
	if got := milliseconds(report.Lag.Max); got < stall/2 {
		t.Errorf("the latest was sent %v late in a stall of %v", got, stall)
	}
}

// TestRun_OpenLoop_UnsentIsCounted never lets the one place free again.
func TestRun_OpenLoop_UnsentIsCounted(t *testing.T) {
	t.Parallel()
	const duration = 500 * time.Millisecond
	report := mustRun(t, Config{
		Target:      serve(t, slowly(func() { time.Sleep(2 * duration) })),
		Rate:        100,
		Duration:    duration,
		MaxInFlight: 1,
	})
	const unsent = "never sent: too many were in flight"
	if got := report.Errors[unsent]; got < 45 || got > 50 {
		t.Errorf("errors = %v, want about 49 %q", report.Errors, unsent)
	}
}

func TestRun_OpenLoop_KeepsRate(t *testing.T) {
	t.Parallel()
	report := mustRun(t, Config{
		Target:   serve(t, noop.New()),
		Rate:     200,
		Duration: time.Second,
		Stock:    1_000,
	})
	if report.Begun < 195 || report.Begun > 201 {
		t.Errorf("%d purchases began in a second at 200 per second", report.Begun)
	}
}

func TestRun_ClosedLoop_IsBounded(t *testing.T) {
	t.Parallel()

	t.Run("ByCount", func(t *testing.T) {
		t.Parallel()
		report := mustRun(t, Config{Target: serve(t, noop.New()), Buyers: 7, Requests: 100})
		if report.Begun != 100 || report.Accepted != 100 || report.Told != 100 {
			t.Errorf("begun, accepted, told = %d, %d, %d, want 100 each", report.Begun, report.Accepted, report.Told)
		}
	})

	t.Run("ByTime", func(t *testing.T) {
		t.Parallel()
		report := mustRun(t, Config{
			Target:   serve(t, noop.New()),
			Buyers:   2,
			Think:    10 * time.Millisecond,
			Warmup:   200 * time.Millisecond,
			Duration: 300 * time.Millisecond,
		})
		if report.Seconds != 0.3 {
			t.Errorf("measured for %v s, want 0.3", report.Seconds)
		}
		if report.Accept.Count >= report.Accepted {
			t.Errorf("%d latencies of %d purchases: the warm-up was measured", report.Accept.Count, report.Accepted)
		}
	})

	t.Run("ByBuyers", func(t *testing.T) {
		t.Parallel()
		var active, most atomic.Int64
		handler := slowly(func() {
			now := active.Add(1)
			defer active.Add(-1)
			for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
			}
			time.Sleep(time.Millisecond)
		})
		mustRun(t, Config{Target: serve(t, handler), Buyers: 3, Requests: 60})
		if n := most.Load(); n > 3 {
			t.Errorf("%d purchases at once by 3 buyers", n)
		}
	})
}
