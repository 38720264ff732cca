package domain

import "time"

// Pause is a time in which a sale accepts nothing, by the database's clock.
type Pause struct {
	From  time.Time // the first moment of the pause
	Until time.Time // the first moment after it; zero while it goes on
}

// contains reports whether a moment lies in the pause.
func (p Pause) contains(moment time.Time) bool {
	return !moment.Before(p.From) && (p.Until.IsZero() || moment.Before(p.Until))
}

// paused reports whether a pause is going on.
func (s Sale) paused() bool {
	return len(s.Pauses) > 0 && s.Pauses[len(s.Pauses)-1].Until.IsZero()
}

// pausedAt reports whether a moment lies in one of the sale's pauses.
func (s Sale) pausedAt(moment time.Time) bool {
	for _, pause := range s.Pauses {
		if pause.contains(moment) {
			return true
		}
	}
	return false
}
