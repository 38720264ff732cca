package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"seckill/load/bench"
)

// BenchCmd measures the service on this machine, beside the naive way and a
// server that does nothing.
type BenchCmd struct {
	Rounds       int           `default:"5" help:"How many rounds; the figures are medians."`
	Buyers       []int         `default:"200,1500" help:"Sizes of the closed loops."`
	History      bool          `default:"true" negatable:"" help:"Measure on a database with ten million past events too; writing them takes minutes."`
	Warmup       time.Duration `default:"2s" help:"How long to load before measuring."`
	Duration     time.Duration `default:"5s" help:"How long to measure each closed loop."`
	Lone         int           `default:"200" help:"How many purchases to make one by one."`
	OpenDuration time.Duration `default:"4s" help:"How long to measure the open loop, and the overload."`
	AskDuration  time.Duration `default:"3s" help:"How long to measure the door of a sold-out sale, and polls."`
	Limit        time.Duration `default:"25m" help:"How long all of it may take; rounds that do not fit are left out."`
	Out          string        `help:"Write the table into this file too." placeholder:"FILE" type:"path"`
}

const (
	// openWarmup is short: the server is warm from the closed loops.
	openWarmup = time.Second
	// idlePause is how long a server has to become idle before the next load.
	idlePause = 500 * time.Millisecond
)

// Run compares, prints the table, and fails if a rule was broken.
func (c *BenchCmd) Run(ctx context.Context) (err error) {
	start := time.Now()
	busy := bench.Busy()
	database, err := startBenchDatabase(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.close()) }()
	version, err := database.version(ctx)
	if err != nil {
		return err
	}

	contenders := []bench.Contender{
		{Name: "service", Start: database.serve(""), Asks: true, Stress: true},
		{Name: "one at a time", Start: database.serve("1")},
	}
	if c.History {
		start, err := database.serveWithHistory(ctx)
		if err != nil {
			return err
		}
		contenders = append(contenders, bench.Contender{Name: "with history", Start: start})
	}
	result, err := bench.Run(ctx, bench.Config{
		Contenders: append(contenders, bench.Contender{
			Name: "no-op", Start: func(ctx context.Context) (*bench.Server, error) { return startChild(ctx, "noop") }, Asks: true,
		}),
		Rounds:       c.Rounds,
		Buyers:       c.Buyers,
		Warmup:       c.Warmup,
		Duration:     c.Duration,
		Pause:        idlePause,
		Lone:         c.Lone,
		AskDuration:  c.AskDuration,
		OpenWarmup:   openWarmup,
		OpenDuration: c.OpenDuration,
		Limit:        c.Limit - time.Since(start),
		Log:          func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	})
	if err != nil {
		err = fmt.Errorf("bench: %w", err)
	}
	if len(result.Rounds) == 0 {
		return err
	}
	return errors.Join(err, c.write(result, version, busy))
}

// write writes what is known, also after an interruption.
func (c *BenchCmd) write(result *bench.Result, postgresVersion, busy string) error {
	var text strings.Builder
	c.describe(&text, result, postgresVersion, busy)
	if err := result.WriteTable(&text); err != nil {
		return err
	}
	fmt.Print(text.String())
	if c.Out != "" {
		if err := os.WriteFile(c.Out, []byte(text.String()), 0o644); err != nil {
			return err
		}
	}
	if result.Broken() {
		return errRulesBroken
	}
	return nil
}

// describeMachine says where and when figures were measured.
func describeMachine(w io.Writer, postgresVersion, busy string) {
	fmt.Fprintf(w, "On %s: %s; %s, Postgres %s with fsync on, seckill %s",
		time.Now().UTC().Format(time.DateOnly), bench.Machine(), runtime.Version(), postgresVersion, version)
	if busy != "" {
		fmt.Fprintf(w, "; load average before: %s", busy)
	}
	fmt.Fprint(w, ".\n\n")
}

// describe says what the table shows and where it comes from.
func (c *BenchCmd) describe(w io.Writer, result *bench.Result, postgresVersion, busy string) {
	fmt.Fprintf(w, "# Benchmark\n\n")
	describeMachine(w, postgresVersion, busy)
	fmt.Fprintf(w, "`seckill bench --rounds %d --buyers %s --warmup %v --duration %v --lone %d --open-duration %v --ask-duration %v`",
		c.Rounds, strings.Trim(strings.ReplaceAll(fmt.Sprint(c.Buyers), " ", ","), "[]"), c.Warmup, c.Duration, c.Lone, c.OpenDuration, c.AskDuration)
	if missing := result.Planned - len(result.Rounds); missing > 0 {
		fmt.Fprintf(w, " (%d of %d rounds; the rest did not fit into %v)", len(result.Rounds), result.Planned, c.Limit)
	}
	fmt.Fprintf(w, `

Each server is a process of its own, the generator another, Postgres more; all share the machine's cores.
*service* runs with its defaults, *one at a time* with SECKILL_MAX_BATCH=1: one job and one transaction per purchase. *with history*
is the service on a database with ten million events of a thousand past sales.
*no-op* answers the same requests without doing anything. Every purchase of a closed loop is followed to its result by
long poll before its buyer makes the next; the open loop follows by SSE, and its times count from when a purchase was due. In the
overload nobody follows: how much is decided, and how old the oldest undecided purchase gets, the server says itself (`+"`/metrics`"+`).

`)
}
