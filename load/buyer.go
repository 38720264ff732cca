package load

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// leaveAfter is how long a buyer who leaves has been connected.
const leaveAfter = 2 * time.Millisecond

// buyer buys for one user after another.
type buyer struct {
	run  *run
	last order // empty before the first purchase
	main *session
	twin *session // for the second click, made when it is first needed
}

func (r *run) newBuyer() *buyer {
	return &buyer{run: r, main: r.target.newSession()}
}

func (b *buyer) close() {
	b.main.close()
	if b.twin != nil {
		b.twin.close()
	}
}

// buy makes one purchase that was due at a moment, and sees it through. It
// returns how long the service asked to be left alone.
func (b *buyer) buy(ctx context.Context, due time.Time) (pause time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, b.run.cfg.Timeout)
	defer cancel()
	o := b.choose()
	b.run.meter.sent(due, time.Now())

	p, err := b.submit(ctx, o)
	accepted := time.Now()
	if err != nil {
		return b.run.notAccepted(o, err)
	}
	b.run.ledger.accepted(o, p)
	b.run.meter.acceptedAt(due, accepted)

	switch {
	case b.run.cfg.Follow == FollowNone:
	case chance(b.run.cfg.Leave):
		b.leave(ctx, p)
	default:
		b.follow(ctx, p, due, accepted)
	}
	return 0
}

// choose is the next order: a new user's, or again the one before's.
func (b *buyer) choose() order {
	if b.last.user == "" || !chance(b.run.cfg.Repeat) {
		b.last = order{
			sale:     b.run.accounts[mathrand.IntN(len(b.run.accounts))].before.SaleID,
			user:     b.run.newUser(),
			quantity: b.run.cfg.Quantity,
		}
	}
	return b.last
}

// submit sends the order, once or twice at once.
func (b *buyer) submit(ctx context.Context, o order) (purchase, error) {
	if !chance(b.run.cfg.DoubleClick) {
		return b.main.submit(ctx, o.sale, o.user, o.quantity, "")
	}
	if b.twin == nil {
		b.twin = b.run.target.newSession()
	}
	key := rand.Text()
	var second purchase
	var secondErr error
	var wg sync.WaitGroup
	wg.Go(func() { second, secondErr = b.twin.submit(ctx, o.sale, o.user, o.quantity, key) })
	first, err := b.main.submit(ctx, o.sale, o.user, o.quantity, key)
	wg.Wait()
	switch {
	case err == nil && secondErr == nil:
		b.run.ledger.twins(key, first, second)
		return first, nil
	case err == nil:
		return first, nil
	case secondErr == nil || mayBeAccepted(secondErr):
		return second, secondErr
	default:
		return first, err
	}
}

// follow waits for the result, and comes back when the way to it breaks.
func (b *buyer) follow(ctx context.Context, p purchase, due, accepted time.Time) {
	for {
		result, told, err := b.main.follow(ctx, b.run.cfg.Follow, b.run.cfg.PollInterval, p)
		if err == nil {
			b.run.meter.toldAt(due, accepted, told)
			b.run.learn(p.RequestID, result)
			return
		}
		if errors.Is(err, errNoSocket) {
			b.run.abort(err) // it would be the same for everybody
			return
		}
		b.run.meter.failed(errorKind(err))
		if refused := (*refusal)(nil); errors.As(err, &refused) && refused.Status < 500 {
			return
		}
		if !sleep(ctx, retryPause) {
			return
		}
	}
}

// leave opens the connection on which the result would come, and closes it.
func (b *buyer) leave(ctx context.Context, p purchase) {
	ctx, cancel := context.WithTimeout(ctx, leaveAfter)
	defer cancel()
	if b.run.cfg.Follow != FollowSSE {
		_, _ = b.main.read(ctx, p.Links.Self, longPollWait) // the buyer does not look
		return
	}
	to, err := b.main.link(p.Links.Events)
	if err != nil {
		return
	}
	if resp, err := b.main.send(ctx, http.MethodGet, to, sseHeader, nil); err == nil {
		<-ctx.Done() // a body that is closed unread takes its connection with it
		resp.Body.Close()
	}
}

// chance is true for so large a share of calls.
func chance(share float64) bool { return share > 0 && mathrand.Float64() < share }
