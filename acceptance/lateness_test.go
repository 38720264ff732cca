package acceptance_test

import (
	"slices"
	"testing"
	"time"
)

// lateness is how long after the decision those were told who waited for it, at nodes
// that could do their work; by how they waited, in ascending order.
func (l *ledger) lateness() map[string][]time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	late := make(map[string][]time.Duration)
	for _, told := range l.tellings {
		waited := told.how == byLongPoll || told.how == bySSE
		if waited && told.DecidedAt != nil && told.sentAt.Before(*told.DecidedAt) && !l.excused(told) {
			late[told.how] = append(late[told.how], told.toldAt.Sub(*told.DecidedAt))
		}
	}
	for _, times := range late {
		slices.Sort(times)
	}
	return late
}

// logLateness logs it.
func (l *ledger) logLateness(t *testing.T) {
	t.Helper()
	for how, late := range l.lateness() {
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
