package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/load"
)

// Contender is one of the servers to compare.
type Contender struct {
	Name string
	// Start starts a fresh server, ready to be used. It stops by itself when the
	// context ends.
	Start func(context.Context) (*Server, error)
	// Asks: how fast it refuses at the door and answers polls is measured too.
	Asks bool
	// Stress: what many sales at once and an overload do to it is measured too.
	Stress bool
}

// Server is a server for one turn.
type Server struct {
	URL      string
	PID      int
	Database string // its URL, where it has one
	Stop     func() error
}

// Config says what to compare, and under which loads.
type Config struct {
	Contenders []Contender
	Rounds     int

	Buyers   []int         // sizes of the closed loops
	Warmup   time.Duration // before each of them is measured
	Duration time.Duration // measured of each

	Pause time.Duration // before each load, to let the server become idle

	Lone int // purchases one by one on an idle server

	AskDuration time.Duration // of the door and the polls, each

	OpenWarmup   time.Duration
	OpenDuration time.Duration // of the open loop, at half of what the closed loops reached, and of the overload

	// Limit bounds the whole. A round that could not end within it is not begun,
	// and one that does not is left out.
	Limit time.Duration
	// Log is told what happens.
	Log func(format string, args ...any)
}

// Result is what the rounds found.
type Result struct {
	Contenders []string
	Buyers     []int
	// Rounds have a turn for each contender, in the order of Contenders.
	Rounds [][]*Turn
	// Planned is how many rounds there were to be.
	Planned int
}

// Turn is one contender in one round.
type Turn struct {
	Closed []*load.Report // by Config.Buyers
	Lone   *load.Report
	Open   *load.Report

	// What only some contenders are asked for; zero for the others.
	Door  float64 // purchases of a sold-out sale answered per second
	Polls float64 // reads of a decided purchase answered per second
	Many  *load.Report
	Over  *Overload
}

// Run holds the rounds. The result has those that are complete, also where there
// is an error.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	result := &Result{Buyers: cfg.Buyers, Planned: cfg.Rounds}
	for _, contender := range cfg.Contenders {
		result.Contenders = append(result.Contenders, contender.Name)
	}
	limit := time.Now().Add(cfg.Limit)
	limited, cancel := context.WithDeadline(ctx, limit)
	defer cancel()
	var longest time.Duration
	for number := range cfg.Rounds {
		start := time.Now()
		if start.Add(longest).After(limit) {
			cfg.Log("no time for another round within %v", cfg.Limit)
			break
		}
		turns, err := cfg.round(limited, number)
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			cfg.Log("round %d did not end within %v and is left out", number+1, cfg.Limit)
			break
		}
		if err != nil {
			return result, err
		}
		result.Rounds = append(result.Rounds, turns)
		longest = max(longest, time.Since(start))
	}
	if len(result.Rounds) == 0 {
		return result, errors.New("no round was complete")
	}
	return result, nil
}

// round gives every contender a turn. Each round begins with another one, so that
// none always follows the same.
func (c *Config) round(ctx context.Context, number int) ([]*Turn, error) {
	turns := make([]*Turn, len(c.Contenders))
	for i := range turns {
		i = (i + number) % len(turns)
		contender := c.Contenders[i]
		c.Log("round %d of %d: %s", number+1, c.Rounds, contender.Name)
		server, err := contender.Start(ctx)
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", contender.Name, err)
		}
		turns[i], err = c.turn(ctx, contender, server)
		if err := errors.Join(err, server.Stop()); err != nil {
			return nil, fmt.Errorf("%s: %w", contender.Name, err)
		}
	}
	return turns, nil
}
