package acceptance_test

import (
	"context"
	"testing"
	"time"
)

// waiter is somebody who waits at a node for a result.
type waiter struct {
	done   chan struct{}
	err    error
	how    string
	node   *node
	result purchase
	toldAt time.Time
}

// wait begins to wait for a request at every node, by server-sent events and by
// long poll. The streams have begun when it returns, so that the nodes know of the
// request and need no database to let the polls wait.
func (s *service) wait(t *testing.T, requestID string) []*waiter {
	t.Helper()
	var waiters []*waiter
	for _, n := range s.nodes {
		waiters = append(waiters, s.waitBy(t, bySSE, n, func(ctx context.Context) (purchase, error) {
			return s.listen(ctx, n, requestID)
		}))
		eventually(t, 10*time.Second, "a stream has begun", func() bool { return s.ledger.toldBySSE(n.name, requestID) })
		waiters = append(waiters, s.waitBy(t, byLongPoll, n, func(ctx context.Context) (purchase, error) {
			return s.ask(ctx, n, requestID, 30*time.Second)
		}))
	}
	return waiters
}

func (s *service) waitBy(t *testing.T, how string, n *node, follow func(context.Context) (purchase, error)) *waiter {
	t.Helper()
	w := &waiter{done: make(chan struct{}), how: how, node: n}
	ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
	go func() {
		defer close(w.done)
		w.result, w.err = follow(ctx)
		w.toldAt = time.Now()
	}()
	t.Cleanup(func() { cancel(); <-w.done })
	return w
}
