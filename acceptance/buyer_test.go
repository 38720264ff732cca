package acceptance_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// postPatience is how long a buyer waits for a 202 before trying another node;
	// longPatience is for those who had better not.
	postPatience = 8 * time.Second
	longPatience = 15 * time.Second
	// pollWait is the wait of a long poll: long enough for who is told at its end only
	// to be told late. pollPatience is how long a buyer waits for the end of an answer:
	// a frozen node gives none.
	pollWait     = 10 * time.Second
	pollPatience = 13 * time.Second
	// pollRest lies between two short polls.
	pollRest = 200 * time.Millisecond
	// retryRest lies between the first two tries, and grows up to maxRetryRest.
	retryRest    = 100 * time.Millisecond
	maxRetryRest = 4 * time.Second
	// patience is how long a buyer stays altogether.
	patience = 60 * time.Second
)

// leaving is when a buyer closes the page.
type leaving int

const (
	stays leaving = iota
	leavesAtOnce
	leavesAccepted
	leavesWaiting
)

// buyer makes one purchase.
type buyer struct {
	order

	doubleClicks bool // sends it twice at once, to two nodes
	ending       ending
	follow       string
	followAt     int // the node that is asked first
	leaves       leaving
	leavesAfter  time.Duration // for those who leave at once or waiting
	nodes        []*node
	postAt       int // the node that it is sent to first
	postPatience time.Duration
}

// buy sends the purchase and sees it through. It calls pressed once it is sent.
func (b *buyer) buy(ctx context.Context, s *shop, pressed func()) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	accepted, ok := b.submit(ctx, s)
	pressed()
	switch {
	case !ok || b.leaves == leavesAccepted || accepted.decided():
	case b.leaves == leavesWaiting:
		ctx, cancel = context.WithTimeoutCause(ctx, b.leavesAfter, errLeft)
		defer cancel()
		_, _ = b.followOnce(ctx, s, accepted.RequestID, b.followAt)
	default:
		if result, ok := b.followUp(ctx, s, accepted); ok && result.Status == succeeded {
			b.end(ctx, s, result)
		}
	}
}

// submit sends the purchase, once or twice at once, until it is accepted. It
// returns false if it is refused, or if the buyer does not find out.
func (b *buyer) submit(ctx context.Context, s *shop) (purchase, bool) {
	if b.leaves == leavesAtOnce {
		ctx, cancel := context.WithTimeoutCause(ctx, b.leavesAfter, errLeft)
		defer cancel()
		_, _ = s.buy(ctx, b.node(b.postAt), b.order) // the buyer does not look
		return purchase{}, false
	}
	if !b.doubleClicks {
		return b.submitTo(ctx, s, b.postAt)
	}
	var second purchase
	var secondOK bool
	var clicks sync.WaitGroup
	clicks.Go(func() { second, secondOK = b.submitTo(ctx, s, b.postAt+1) })
	first, ok := b.submitTo(ctx, s, b.postAt)
	clicks.Wait()
	if !ok {
		return second, secondOK
	}
	return first, ok
}

func (b *buyer) submitTo(ctx context.Context, s *shop, at int) (purchase, bool) {
	for try := 0; ; try++ {
		accepted, err := b.submitOnce(ctx, s, at+try)
		if err == nil {
			return accepted, true
		}
		answered, ok := errors.AsType[*problem](err)
		switch {
		case ok && !answered.passing(), errors.Is(err, errContract):
			return purchase{}, false
		case b.key == "" && ok && answered.RequestID != "":
			return purchase{RequestID: answered.RequestID}, true // its fate is unknown: follow it
		case b.key == "":
			return purchase{}, false // to send it again could be to buy again
		}
		if !pause(ctx, restAfter(try)) {
			return purchase{}, false
		}
	}
}

func (b *buyer) submitOnce(ctx context.Context, s *shop, at int) (purchase, error) {
	ctx, cancel := context.WithTimeout(ctx, b.postPatience)
	defer cancel()
	return s.buy(ctx, b.node(at), b.order)
}

// followUp asks one node after the other until one knows the result. It returns false
// if the buyer does not find out.
func (b *buyer) followUp(ctx context.Context, s *shop, accepted purchase) (purchase, bool) {
	for try := 0; ; try++ {
		result, err := b.followOnce(ctx, s, accepted.RequestID, b.followAt+try)
		if err == nil && result.decided() {
			return result, true
		}
		if answered, ok := errors.AsType[*problem](err); ok && answered.notFound() {
			return purchase{}, false // which is true, or breaks a rule
		}
		if !pause(ctx, restAfter(try)) {
			s.ledger.addUnanswered(accepted.RequestID)
			return purchase{}, false
		}
	}
}

// followOnce asks a node in the buyer's way until it knows the result, or until it
// fails or does not answer.
func (b *buyer) followOnce(ctx context.Context, s *shop, requestID string, at int) (purchase, error) {
	for {
		result, err := b.askOnce(ctx, s, requestID, at)
		if err != nil || result.decided() {
			return result, err
		}
		if b.follow == byShortPoll && !pause(ctx, pollRest) {
			return purchase{}, ctx.Err()
		}
	}
}

func (b *buyer) askOnce(ctx context.Context, s *shop, requestID string, at int) (purchase, error) {
	ctx, cancel := context.WithTimeout(ctx, pollPatience)
	defer cancel()
	switch b.follow {
	case byLongPoll:
		return s.ask(ctx, b.node(at), requestID, pollWait)
	case bySSE:
		return s.listen(ctx, b.node(at), requestID)
	default:
		return s.ask(ctx, b.node(at), requestID, 0)
	}
}

// node is the node at a place in the rotation, or the next that is ready.
func (b *buyer) node(at int) *node {
	for i := range b.nodes {
		if n := b.nodes[(at+i)%len(b.nodes)]; n.inRotation.Load() {
			return n
		}
	}
	return b.nodes[at%len(b.nodes)]
}

// restAfter is how long a buyer rests after a try that failed, counted from 0.
func restAfter(try int) time.Duration {
	rest := min(retryRest<<min(try, 10), maxRetryRest)
	return rest/2 + rand.N(rest)
}
