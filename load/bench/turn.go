package bench

import (
	"context"
	"fmt"
	"math"
	"time"

	"seckill/load"
)

const (
	// plenty is a stock that no run sells out.
	plenty = 100_000_000
	// settle is how long purchases may be under way after a run.
	settle = 20 * time.Second
	// loneThink is the time between two lone purchases.
	loneThink = 10 * time.Millisecond
	// askers ask the door and poll.
	askers = 200
	// manySales are sold at once.
	manySales = 16
	// overload is how many times the most that was reached is offered.
	overload = 3
	// loneLimit bounds the time for them all.
	loneLimit = 15 * time.Second
)

// turn puts every load on one server.
func (c *Config) turn(ctx context.Context, contender Contender, server *Server) (*Turn, error) {
	turn := &Turn{}
	most := 0.0
	for _, buyers := range c.Buyers {
		report, err := c.load(ctx, server, load.Config{
			Buyers:   buyers,
			Duration: c.Duration,
			Follow:   load.FollowLongPoll,
			Warmup:   c.Warmup,
		})
		if err != nil {
			return nil, err
		}
		turn.Closed = append(turn.Closed, report)
		most = max(most, report.ToldPerSecond)
	}

	var err error
	turn.Lone, err = c.load(ctx, server, load.Config{
		Buyers:   1,
		Duration: loneLimit,
		Follow:   load.FollowSSE,
		Requests: int64(c.Lone),
		Think:    loneThink,
	})
	if err != nil {
		return nil, err
	}
	turn.Open, err = c.load(ctx, server, load.Config{
		Duration: c.OpenDuration,
		Follow:   load.FollowSSE,
		Rate:     math.Round(max(most/2, 1)),
		Warmup:   c.OpenWarmup,
	})
	if err != nil {
		return nil, err
	}
	if contender.Asks {
		if err := c.asks(ctx, server, turn); err != nil {
			return nil, err
		}
	}
	if contender.Stress {
		if err := c.stress(ctx, server, turn, most); err != nil {
			return nil, err
		}
	}
	return turn, nil
}

// asks measures what needs no decision.
func (c *Config) asks(ctx context.Context, server *Server, turn *Turn) (err error) {
	ask := load.AskConfig{Target: server.URL, Callers: askers, Warmup: c.OpenWarmup, Duration: c.AskDuration}
	if turn.Door, err = load.Door(ctx, ask); err != nil {
		return fmt.Errorf("at the door: %w", err)
	}
	if turn.Polls, err = load.Polls(ctx, ask); err != nil {
		return fmt.Errorf("polls: %w", err)
	}
	c.Log("  %d callers: %.0f purchases of a sold-out sale answered/s, %.0f polls/s", askers, turn.Door, turn.Polls)
	return nil
}

// stress puts the largest closed loop on many sales, and more on one sale than it
// can decide.
func (c *Config) stress(ctx context.Context, server *Server, turn *Turn, most float64) (err error) {
	turn.Many, err = c.load(ctx, server, load.Config{
		Buyers:   c.Buyers[len(c.Buyers)-1],
		Duration: c.Duration,
		Follow:   load.FollowLongPoll,
		NewSales: manySales,
		Warmup:   c.Warmup,
	})
	if err != nil {
		return err
	}
	turn.Over, err = c.overload(ctx, server, math.Round(overload*most))
	return err
}

// load runs one load. An interrupted one is an error: its figures mean nothing.
func (c *Config) load(ctx context.Context, server *Server, cfg load.Config) (*load.Report, error) {
	cfg.Target, cfg.ServerPID = server.URL, server.PID
	cfg.Stock, cfg.Settle = plenty, settle
	select {
	case <-time.After(c.Pause):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	report, err := load.Run(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if report.Accepted == 0 || report.Told == 0 && cfg.Follow != load.FollowNone {
		return nil, fmt.Errorf("%s: nobody was told anything: errors %v", report.Load, report.Errors)
	}
	c.Log("  %s: %.0f accepted/s, %.0f told/s", report.Load, report.AcceptedPerSecond, report.ToldPerSecond)
	return report, nil
}

// reports are all the turn's.
func (t *Turn) reports() []*load.Report {
	reports := append([]*load.Report{t.Lone, t.Open}, t.Closed...)
	if t.Many != nil {
		reports = append(reports, t.Many)
	}
	return reports
}
