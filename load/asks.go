package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// AskConfig says how to ask a server for the same again and again.
type AskConfig struct {
	Target   string // on the loopback interface
	Callers  int    // each asks as soon as it is answered, over a connection of its own
	Warmup   time.Duration
	Duration time.Duration // measured
}

// gateWithin is how long a service may take to close the door of a sale that is
// sold out.
const gateWithin = 5 * time.Second

// Door measures how many purchases of a sold-out sale are answered per second. A
// service refuses them; a server that does nothing accepts them.
func Door(ctx context.Context, cfg AskConfig) (perSecond float64, err error) {
	return ask(ctx, cfg, func(ctx context.Context, s *session) (question, error) {
		sold, err := sellOut(ctx, s)
		if err != nil {
			return nil, err
		}
		return func(s *session, n int64) error {
			_, err := s.submit(ctx, sold, "late-"+strconv.FormatInt(n, 10), 1, "")
			if isSoldOut(err) {
				return nil
			}
			return err
		}, nil
	})
}

// Polls measures how many reads of decided purchases are answered per second.
func Polls(ctx context.Context, cfg AskConfig) (perSecond float64, err error) {
	return ask(ctx, cfg, func(ctx context.Context, s *session) (question, error) {
		created, err := s.createSale(ctx, oneUnit())
		if err != nil {
			return nil, err
		}
		bought, err := s.submit(ctx, created.SaleID, "winner", 1, "")
		if err != nil {
			return nil, err
		}
		if _, err := s.read(ctx, bought.Links.Self, longPollWait); err != nil {
			return nil, err
		}
		return func(s *session, _ int64) error {
			p, err := s.read(ctx, bought.Links.Self, 0)
			if err == nil && p.Status != statusSucceeded {
				return fmt.Errorf("%w: a decided purchase is %q", errMalformed, p.Status)
			}
			return err
		}, nil
	})
}

// oneUnit is the plan of a sale of a single unit.
func oneUnit() plan {
	return plan{
		Name: "Load", Currency: "CNY", Stock: 1, PerUserLimit: 1,
		ClosesAt: time.Now().Add(saleLength).UTC(), PaymentTimeout: saleLength.String(),
	}
}

// sellOut makes a sale of one unit, sells it, and waits for the door to close
// unless the server accepts whatever comes.
func sellOut(ctx context.Context, s *session) (saleID int64, err error) {
	created, err := s.createSale(ctx, oneUnit())
	if err != nil {
		return 0, err
	}
	bought, err := s.submit(ctx, created.SaleID, "winner", 1, "")
	if err != nil {
		return 0, err
	}
	if _, err := s.read(ctx, bought.Links.Self, longPollWait); err != nil {
		return 0, err
	}
	for since := time.Now(); time.Since(since) < gateWithin; {
		late, err := s.submit(ctx, created.SaleID, "late", 1, "")
		if isSoldOut(err) {
			return created.SaleID, nil
		}
		if err != nil {
			return 0, err
		}
		p, err := s.read(ctx, late.Links.Self, longPollWait)
		if err != nil {
			return 0, err
		}
		if p.Status == statusSucceeded {
			return created.SaleID, nil // it has no stock to run out of
		}
		if !sleep(ctx, retryPause) {
			return 0, ctx.Err()
		}
	}
	return 0, errors.New("a sold-out sale still takes purchases in")
}

func isSoldOut(err error) bool {
	refused, ok := errors.AsType[*refusal](err)
	return ok && refused.Code == reasonSoldOut
}

// question is asked again and again, with another number each time.
type question func(s *session, n int64) error

// ask prepares a question and lets every caller ask it.
func ask(ctx context.Context, cfg AskConfig, prepare func(context.Context, *session) (question, error)) (float64, error) {
	target, err := resolveTarget(ctx, cfg.Target, false)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	first := target.newSession()
	defer first.close()
	question, err := prepare(ctx, first)
	if err != nil {
		return 0, err
	}

	var asked, answered atomic.Int64
	var stopped atomic.Bool
	var callers sync.WaitGroup
	for range cfg.Callers {
		callers.Go(func() {
			s := target.newSession()
			defer s.close()
			for !stopped.Load() && ctx.Err() == nil {
				if err := question(s, asked.Add(1)); err != nil {
					cancel(err)
					return
				}
				answered.Add(1)
			}
		})
	}
	sleep(ctx, cfg.Warmup)
	before, begin := answered.Load(), time.Now()
	sleep(ctx, cfg.Duration)
	count, took := answered.Load()-before, time.Since(begin)
	stopped.Store(true)
	callers.Wait()
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	return float64(count) / took.Seconds(), nil
}
