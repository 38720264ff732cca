// Package projections is the read side: folds of streams into rows that are read
// by key, applied in the transaction that appends, and the readers of those rows.
package projections
