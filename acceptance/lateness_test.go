package acceptance_test

import (
	"slices"
	"testing"
	"time"
)

// logLateness logs how long after the decision those were told who waited for it, at
// nodes that could do their work.
func (l *ledger) logLateness(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, how := range []string{byLongPoll, bySSE} {
		var late []time.Duration
		for _, told := range l.tellings {
			if told.how == how && told.DecidedAt != nil && told.sentAt.Before(*told.DecidedAt) && !l.excused(told) {
				late = append(late, told.toldAt.Sub(*told.DecidedAt))
			}
		}
		if len(late) == 0 {
			continue
		}
		slices.Sort(late)
		at := func(share float64) time.Duration {
			return late[int(share*float64(len(late)-1))].Round(time.Millisecond)
		}
		t.Logf("%d waited by %s, told after the decision: p50 %s, p99 %s, last %s", len(late), how, at(0.5), at(0.99), at(1))
	}
}

// excused reports whether a node could not do its work while it was being asked.
func (l *ledger) excused(told telling) bool {
	return slices.ContainsFunc(l.disturbances, func(d disturbance) bool {
		return d.node == told.node && d.since.Before(told.toldAt) && told.sentAt.Before(d.until)
	})
}
