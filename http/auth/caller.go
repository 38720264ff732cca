package auth

import "slices"

// Role is what a caller may do.
type Role string

// The roles.
const (
	// Buyer buys and sees what is its own.
	Buyer Role = "buyer"
	// Operator runs sales and sees everything.
	Operator Role = "operator"
	// Service is another system: it pays and refunds orders and follows the events.
	Service Role = "service"
)

// Caller is who calls. The zero Caller is anonymous.
type Caller struct {
	User  string
	Roles []Role
}

// Anonymous reports whether it is not known who calls.
func (c Caller) Anonymous() bool { return c.User == "" }

// HasAny reports whether the caller has one of the roles.
func (c Caller) HasAny(roles ...Role) bool {
	return slices.ContainsFunc(c.Roles, func(r Role) bool { return slices.Contains(roles, r) })
}
