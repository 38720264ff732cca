// Package eventstore keeps the history: streams of events with optimistic
// versions, a global order that a reader can follow without missing what
// commits late, and notice of what was committed.
//
// The global order is (transaction ID, position). A transaction ID is Postgres's
// own plus an offset that survives dump and restore; take every lock before the
// first write of a transaction, and the order of IDs is the order of locks.
package eventstore
