// Package load drives a running service with buyers and checks that it kept its
// word. It knows the service only by its HTTP contract.
//
// In a closed loop a number of buyers each buy, wait for their result, and buy
// again as somebody else: the load adapts to what the service can do. In an open
// loop purchases are due at a given rate whether or not the service keeps up,
// and every latency counts from the moment the purchase was due, so that time
// spent waiting to be sent is part of it.
//
// While it runs, a ledger keeps what every buyer was told. Afterwards the ledger
// is held against what the service holds; see Rule.
package load
