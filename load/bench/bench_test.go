package bench

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"seckill/load"
	"seckill/load/noop"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun(t *testing.T) {
	t.Parallel()

	type testBundle struct {
		cfg     Config
		started *[]string
		stopped *int
	}
	// setup has two contenders, both of which do nothing.
	setup := func(t *testing.T) *testBundle {
		t.Helper()
		b := &testBundle{started: new([]string), stopped: new(int)}
		contender := func(name string) Contender {
			return Contender{Name: name, Start: func(context.Context) (*Server, error) {
				*b.started = append(*b.started, name)
				server := httptest.NewServer(noop.New())
				return &Server{URL: server.URL, PID: os.Getpid(), Stop: func() error {
					*b.stopped++
					server.Close()
					return nil
				}}, nil
			}}
		}
		b.cfg = Config{
			Contenders:   []Contender{contender("one"), contender("other")},
			Rounds:       2,
			Buyers:       []int{1, 2},
			Duration:     200 * time.Millisecond,
			Lone:         3,
			OpenDuration: 50 * time.Millisecond,
			Limit:        time.Minute,
			Log:          t.Logf,
		}
		return b
	}

	t.Run("TakesTurns", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		result, err := Run(t.Context(), b.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"one", "other", "other", "one"}, *b.started); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if *b.stopped != 4 || len(result.Rounds) != 2 || result.Broken() {
			t.Errorf("%d stopped, %d rounds, broken: %v", *b.stopped, len(result.Rounds), result.Broken())
		}
		for _, turns := range result.Rounds {
			for i, turn := range turns {
				if len(turn.Closed) != 2 || turn.Lone.Accepted != 3 || turn.Open.Told == 0 {
					t.Errorf("turn of %s: %+v", result.Contenders[i], turn)
				}
			}
		}
	})

	t.Run("IsBoundedInTime", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.cfg.Rounds, b.cfg.Limit = 1_000, 3*time.Second
		start := time.Now()
		result, err := Run(t.Context(), b.cfg)
		if err != nil && len(result.Rounds) > 0 { // a slow machine may complete none
			t.Fatal(err)
		}
		if took := time.Since(start); took > b.cfg.Limit+5*time.Second {
			t.Errorf("took %v with a limit of %v", took, b.cfg.Limit)
		}
		if len(result.Rounds) == result.Planned {
			t.Errorf("%d rounds within %v", result.Planned, b.cfg.Limit)
		}
	})

	t.Run("ErrInterrupted", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		b.cfg.Duration = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if _, err := Run(ctx, b.cfg); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Run = %v", err)
		}
		if *b.stopped != 1 {
			t.Errorf("%d of %d servers were stopped", *b.stopped, len(*b.started))
		}
	})

	t.Run("ErrStart", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		broken := errors.New("no server today")
		b.cfg.Contenders[1].Start = func(context.Context) (*Server, error) { return nil, broken }
		if _, err := Run(t.Context(), b.cfg); !errors.Is(err, broken) {
			t.Errorf("Run = %v, want %v", err, broken)
		}
		if *b.stopped != 1 {
			t.Errorf("%d servers were stopped, want 1", *b.stopped)
		}
	})
}

func TestResult_WriteTable(t *testing.T) {
	t.Parallel()
	turn := func(told float64) *Turn {
		report := func() *load.Report {
			return &load.Report{
				ToldPerSecond: told,
				Accept:        load.Latency{P50: 1, P99: 2},
				Decide:        load.Latency{P50: 3, P99: 4},
				Total:         load.Latency{P50: 5, P99: 6},
				Errors:        map[string]int64{"timeout": 1},
				Server:        &load.Usage{CPUPerPurchase: 70, PeakMemory: 80e6},
			}
		}
		return &Turn{Closed: []*load.Report{report()}, Lone: report(), Open: report()}
	}
	result := &Result{
		Contenders: []string{"service", "no-op"},
		Buyers:     []int{200},
		Rounds: [][]*Turn{
			{turn(500), turn(1000)},
			{turn(300), turn(1200)}, // a slow round
			{turn(600), turn(1000)},
		},
	}
	var text strings.Builder
	if err := result.WriteTable(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| median of 3 rounds | service | no-op |\n|---|--:|--:|\n",
		"| **200 buyers**, told/s | 500 (300 to 600) | 1000 (1000 to 1200) |\n",
		"| … of the no-op | 0.50 | 1.00 |\n",
		"| … of the service | 1.00 | 2.00 |\n",
		"| POST to 202, p50 / p99, ms | 1.0 / 2.0 | 1.0 / 2.0 |\n",
		"| 202 to result, p50 / p99, ms | 3.0 / 4.0 | 3.0 / 4.0 |\n",
		"| server's CPU, µs a purchase | 70 | 70 |\n",
		"by SSE, p50 / p99, ms | 5.00 / 6.00 | 5.00 / 6.00 |\n",
		"| **most memory**, the overload apart, MB | 80 | 80 |\n",
		"| **errors** | 9 | 9 |\n",
		"| **broken rules** | 0 | 0 |\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, text.String())
		}
	}

	if result.Broken() {
		t.Error("Broken() without a broken rule")
	}
	result.Rounds[1][0].Open.Rules = []load.Rule{{Name: load.RuleStock, Broken: 1}}
	if !result.Broken() {
		t.Error("a broken rule was overlooked")
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{3}, 3},
		{[]float64{1, 2}, 1.5},
		{[]float64{1, 2, 9}, 2},
	} {
		if got := median(test.values); got != test.want {
			t.Errorf("median(%v) = %v, want %v", test.values, got, test.want)
		}
	}
}
