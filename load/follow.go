package load

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// longPollWait is the longest wait that the contract grants.
const longPollWait = 30 * time.Second

// retryPause is how long a buyer rests before coming back after a broken
// connection or an answer without a result, as a browser would.
const retryPause = 100 * time.Millisecond

// errNoSocket is returned where the service offers no WebSocket.
var errNoSocket = errors.New("follow by ws: this service's 202 has no links.ws; try sse")

// follow returns the decided purchase and the moment it was known. It returns an
// error if one attempt failed; the caller may try again.
func (s *session) follow(ctx context.Context, how Follow, every time.Duration, p purchase) (purchase, time.Time, error) {
	switch how {
	case FollowSSE:
		return s.listen(ctx, p.Links.Events)
	case FollowWebSocket:
		if p.Links.WS == "" {
			return purchase{}, time.Time{}, errNoSocket
		}
		return s.listenSocket(ctx, p.Links.WS)
	case FollowShortPoll:
		return s.poll(ctx, p.Links.Self, 0, every)
	case FollowLongPoll:
		return s.poll(ctx, p.Links.Self, longPollWait, retryPause)
	default:
		return purchase{}, time.Time{}, fmt.Errorf("follow by %q: no such way", how)
	}
}

// poll asks until the result is there, resting between two questions.
func (s *session) poll(ctx context.Context, self string, wait, rest time.Duration) (purchase, time.Time, error) {
	for {
		p, err := s.read(ctx, self, wait)
		if err != nil || p.decided() {
			return p, time.Now(), err
		}
		if !sleep(ctx, rest) {
			return p, time.Time{}, ctx.Err()
		}
	}
}

// sleep reports whether it slept in full.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
