package load

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// networkPause is how long a buyer rests when the service cannot be reached.
const networkPause = 200 * time.Millisecond

// run is one load on its way.
type run struct {
	cfg      Config
	target   target
	accounts []*account
	meter    *meter
	ledger   *ledger

	abort context.CancelCauseFunc // ends the run without a report

	name  string // begins the name of every user, so that runs do not meet
	users atomic.Int64
	begun atomic.Int64
}

// Run loads the target and checks what its buyers were told. It returns an error
// if there is nothing to report; broken rules are in the report. A run that is
// interrupted reports what it has.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	target, err := resolveTarget(ctx, cfg.Target, cfg.AllowRemote)
	if err != nil {
		return nil, err
	}
	defer target.sockets.CloseIdleConnections()
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	r := &run{
		abort:  abort,
		cfg:    cfg,
		target: target,
		ledger: newLedger(),
		name:   rand.Text()[:8],
	}
	if err := r.openAccounts(ctx); err != nil {
		return nil, err
	}

	usage := newUsageMeter(r.serverPID())
	start := time.Now()
	r.load(ctx, start, usage)
	took := r.meter.finish(time.Now())

	if cause := context.Cause(ctx); errors.Is(cause, errNoSocket) {
		return nil, cause
	}
	r.settle(ctx)
	r.closeAccounts(ctx)
	rules := r.ledger.judge(r.accounts, time.Since(start), ctx.Err() != nil)
	return r.report(start, took, usage, rules), nil
}

// load runs the loop from start to its end, under the eyes of a usageMeter.
func (r *run) load(ctx context.Context, start time.Time, usage *usageMeter) {
	begin := start.Add(r.cfg.Warmup)
	calls, cancelCalls := context.WithCancel(ctx)
	defer cancelCalls()
	var end time.Time
	loop := ctx
	if r.cfg.Duration > 0 {
		end = begin.Add(r.cfg.Duration)
		var cancel context.CancelFunc
		loop, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	r.meter = newMeter(begin, end)

	var watchers sync.WaitGroup
	watching, stopWatching := context.WithCancel(ctx)
	watchers.Go(func() { usage.watch(watching, begin, end) })
	watchers.Go(func() { r.watchProgress(watching, start, end) })
	// Buyers whose result is late are not waited for longer than the rest.
	patience := context.AfterFunc(loop, func() {
		if sleep(calls, r.cfg.Settle) {
			cancelCalls()
		}
	})

	if r.cfg.Rate > 0 {
		r.openLoop(loop, calls, start)
	} else {
		r.closedLoop(loop, calls)
	}
	patience()
	stopWatching()
	watchers.Wait()
}

// begin takes one of the purchases that may begin.
func (r *run) begin() bool {
	return r.begun.Add(1) <= r.cfg.Requests || r.cfg.Requests == 0
}

func (r *run) newUser() string {
	return r.name + "-" + strconv.FormatInt(r.users.Add(1), 10)
}

// learn enters a result, and counts it unless it was known.
func (r *run) learn(requestID string, p purchase) {
	if r.ledger.told(requestID, p) {
		r.meter.outcome(p.outcome())
	}
}

// notAccepted enters what is not a 202, and returns how long to pause.
func (r *run) notAccepted(o order, err error) time.Duration {
	if mayBeAccepted(err) {
		r.ledger.unanswered(o)
	}
	refused := (*refusal)(nil)
	if !errors.As(err, &refused) {
		r.meter.failed(errorKind(err))
		return networkPause
	}
	if !refused.atTheDoor() {
		r.meter.failed(refused.kind())
		return refused.retryAfter
	}
	r.meter.outcome(refused.Code + " (at the door)")
	if refused.Code == reasonSoldOut {
		r.ledger.soldOut(o)
	}
	return refused.retryAfter
}

func (r *run) serverPID() int {
	if r.cfg.ServerPID != 0 || !r.target.loopback() {
		return r.cfg.ServerPID
	}
	return listeningPID(r.target.port())
}

// describe says in words what the load was.
func (c Config) describe() string {
	if c.Rate > 0 {
		return fmt.Sprintf("open loop, %g purchases/s, follow by %s", c.Rate, c.Follow)
	}
	buyers := "buyers"
	if c.Buyers == 1 {
		buyers = "buyer"
	}
	return fmt.Sprintf("closed loop, %d %s, follow by %s", c.Buyers, buyers, c.Follow)
}
