package load

import (
	"errors"
	"fmt"
	"time"
)

// Follow is how a buyer learns the result of an accepted request.
type Follow string

// The ways to follow a request.
const (
	FollowLongPoll  Follow = "long-poll"  // GET with a wait
	FollowNone      Follow = "none"       // not at all: the buyer leaves with the 202
	FollowSSE       Follow = "sse"        // server-sent events
	FollowShortPoll Follow = "short-poll" // GET again and again
	FollowWebSocket Follow = "ws"         // WebSocket, where the 202 offers a link to one
)

// Config says what to load, how, and for how long. The zero value of a field
// stands for the default that its comment names.
type Config struct {
	// Target is the service's base URL.
	Target string
	// AllowRemote permits a target that is not on the loopback interface.
	AllowRemote bool

	// Sales are the sales to buy from. Without any, NewSales of them are created.
	Sales []int64
	// NewSales is how many sales to create: 1.
	NewSales int
	// Stock is how many units each created sale has: 1,000.
	Stock int64
	// PerUserLimit is how many units one user may hold of a created sale: 1.
	PerUserLimit int

	// Buyers is the size of the closed loop: 50, unless Rate is set.
	Buyers int
	// Think is how long a buyer of the closed loop rests between two purchases.
	Think time.Duration
	// Rate is the open loop's purchases per second.
	Rate float64
	// Ramp is how long the open loop takes to rise evenly from nothing to Rate.
	Ramp time.Duration
	// MaxInFlight bounds the open loop's unfinished purchases, hence its
	// connections: 5,000. A purchase that is due meanwhile waits, on the clock.
	MaxInFlight int

	// Duration is how long to measure: 10 s, or without a bound in time where
	// Requests is set.
	Duration time.Duration
	// Requests is how many purchases to begin at most.
	Requests int64
	// Warmup is loaded before Duration begins. It counts in the outcomes and the
	// rules, not in rates and latencies.
	Warmup time.Duration

	// Follow is how buyers learn their result: FollowLongPoll.
	Follow Follow
	// PollInterval is how often FollowShortPoll asks: every 200 ms.
	PollInterval time.Duration
	// Quantity is how many units each purchase asks for: 1.
	Quantity int
	// Repeat is the share (0 to 1) of purchases by the user of the one before.
	Repeat float64
	// DoubleClick is the share of purchases that are sent twice at once, with one
	// Idempotency-Key.
	DoubleClick float64
	// Leave is the share of buyers who close the connection on which their result
	// would come.
	Leave float64

	// Timeout is how long one purchase may take, result included: 60 s.
	Timeout time.Duration
	// Settle is how long to wait, after the load, for the results that buyers did
	// not stay for: 30 s.
	Settle time.Duration
	// Sample is how many requests to read again and compare with what was told:
	// 200.
	Sample int
	// ServerPID is the process whose CPU and memory are reported. Without it, the
	// one that listens on the target's port is looked for.
	ServerPID int

	// Progress, if set, is called a few times a second.
	Progress func(Progress)
}

func (c Config) withDefaults() Config {
	setDefault(&c.NewSales, 1)
	setDefault(&c.Stock, 1_000)
	setDefault(&c.PerUserLimit, 1)
	if c.Rate == 0 {
		setDefault(&c.Buyers, 50)
	}
	setDefault(&c.MaxInFlight, 5_000)
	if c.Requests == 0 {
		setDefault(&c.Duration, 10*time.Second)
	}
	setDefault(&c.Follow, FollowLongPoll)
	setDefault(&c.PollInterval, 200*time.Millisecond)
	setDefault(&c.Quantity, 1)
	setDefault(&c.Timeout, time.Minute)
	setDefault(&c.Settle, 30*time.Second)
	setDefault(&c.Sample, 200)
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c Config) validate() error {
	switch c.Follow {
	case FollowLongPoll, FollowNone, FollowSSE, FollowShortPoll, FollowWebSocket:
	default:
		return fmt.Errorf("follow: %q is none of long-poll, none, short-poll, sse, ws", c.Follow)
	}
	for name, share := range map[string]float64{
		"repeat": c.Repeat, "double-click": c.DoubleClick, "leave": c.Leave,
	} {
		if share < 0 || share > 1 {
			return fmt.Errorf("%s: a share is between 0 and 1, not %v", name, share)
		}
	}
	switch {
	case c.Rate < 0:
		return errors.New("rate: must not be negative")
	case c.Rate > 0 && c.Buyers > 0:
		return errors.New("buyers and rate: a load is a closed loop or an open one, not both")
	case c.Ramp > 0 && c.Rate == 0:
		return errors.New("ramp: needs a rate")
	case c.Think > 0 && c.Rate > 0:
		return errors.New("think: the open loop's buyers come once")
	case c.Buyers < 0, c.Duration < 0, c.Requests < 0, c.Warmup < 0, c.Ramp < 0, c.Think < 0,
		c.NewSales < 0, c.Stock < 0, c.MaxInFlight < 0, c.Quantity < 0:
		return errors.New("counts and durations must not be negative")
	}
	return nil
}
