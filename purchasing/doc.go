// Package purchasing is the write side: it takes purchases in, has them decided
// by River jobs, and carries out the commands on sales and orders. It owns the
// transactions; everything below takes them as arguments.
//
// Locks come in one order, purchase before sale, and before the first write of
// a transaction. One transaction locks one sale.
package purchasing
