package acceptance_test

import (
	"context"
	"testing"
	"time"
)

// eventually waits for what becomes true by itself.
func eventually(t *testing.T, within time.Duration, what string, condition func() bool) {
	t.Helper()
	if !becomes(within, condition) {
		t.Fatalf("not within %s: %s", within, what)
	}
}

// becomes reports whether a condition becomes true in time.
func becomes(within time.Duration, condition func() bool) bool {
	deadline := time.Now().Add(within)
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for !condition() {
		if time.Now().After(deadline) {
			return false
		}
		<-look.C
	}
	return true
}

// pause is a buyer's rest. It reports whether the context is still alive.
func pause(ctx context.Context, rest time.Duration) bool {
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
