package domain

// PurchasesTurnedAway counts purchases of one sale that a node refused at the door
// for one reason, in about the second before it was recorded. They were never
// accepted and have no streams of their own. The event is the only one of its
// stream.
type PurchasesTurnedAway struct {
	Reason Reason `json:"reason"`
	Count  int64  `json:"count"`
}

// EventType implements Event.
func (PurchasesTurnedAway) EventType() string { return "PurchasesTurnedAway" }
