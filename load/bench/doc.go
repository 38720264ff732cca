// Package bench compares servers that speak the service's HTTP contract, each
// under the same loads, in turns: what else happens on the machine meanwhile
// happens to all of them. It does not know what the servers are; see Contender.
package bench
