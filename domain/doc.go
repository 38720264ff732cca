// Package domain holds the rules of a flash sale: what a sale is, how a
// purchase is decided, what becomes of an order. Decisions are pure functions
// from state and time to events; state is a fold of events. Nothing here knows
// SQL, HTTP or the queue, and nothing here reads a clock.
package domain
