package domain

// Unreadable stands for a stored event that this version cannot read: its type
// is unknown, or its data has another shape or lacks something. Folds pass over
// it, so that one such event never keeps its neighbours from being read; a
// request that is unreadable is rejected as internal.
type Unreadable struct {
	Type string
	Err  error
}

// EventType implements Event.
func (u Unreadable) EventType() string { return u.Type }
