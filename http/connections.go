package http

import (
	"context"
	"net/netip"
	"sync"
)

// Connections bounds the connections that wait, stream or are idle: each takes memory
// and a file descriptor for as long as its client likes. 0 is no bound.
type Connections struct {
	// Idle is for those on which nothing is under way. It does not refuse new ones:
	// the one that has been idle for longest is closed.
	Idle int
	// PerAddress is for one client address; for IPv6 a network of 64 bits, which is
	// what one customer has. This machine's own addresses are not bounded: there a
	// proxy connects for everybody.
	PerAddress int
	// PerUser is for those who wait for purchases of one user.
	PerUser int
}

// connections counts those that are open. Both maps have an entry for each that is,
// at most.
type connections struct {
	bounds Connections
	most   int // of all; 0 is no bound

	mu        sync.Mutex
	open      int
	addresses map[netip.Prefix]int
	users     map[string]int
}

// spareDescriptors are kept for those who do not wait: purchases, polls, the
// database.
const spareDescriptors = 1_000

func newConnections(bounds Connections) *connections {
	c := &connections{bounds: bounds, addresses: make(map[netip.Prefix]int), users: make(map[string]int)}
	if files := maxOpenFiles(); files > 0 {
		c.most = max(files-spareDescriptors, files/2)
	}
	return c
}

// take counts a connection until it is released. The error is a problem to answer
// with.
func (c *connections) take(address netip.Addr, user string) (release func(), err error) {
	network := networkOf(address)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.most > 0 && c.open >= c.most:
		return nil, problem("overloaded")
	case isFull(c.bounds.PerAddress, c.addresses, network), isFull(c.bounds.PerUser, c.users, user):
		return nil, problem("rate_limited")
	}
	c.open++
	add(c.addresses, network, 1)
	add(c.users, user, 1)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open--
		add(c.addresses, network, -1)
		add(c.users, user, -1)
	}, nil
}

// networkOf is what an address is counted as; the zero prefix is not bounded.
func networkOf(address netip.Addr) netip.Prefix {
	if !address.IsValid() || address.IsLoopback() {
		return netip.Prefix{}
	}
	bits := 64
	if address.Is4() {
		bits = 32
	}
	network, _ := address.Prefix(bits) // both are valid
	return network
}

// isFull reports whether a key has as many as it may. The zero key is nobody's.
func isFull[K comparable](bound int, open map[K]int, key K) bool {
	var nobody K
	return bound > 0 && key != nobody && open[key] >= bound
}

// add keeps no zeros.
func add[K comparable](open map[K]int, key K, count int) {
	var nobody K
	if key == nobody {
		return
	}
	if open[key] += count; open[key] == 0 {
		delete(open, key)
	}
}

// hold counts whoever is about to wait or watch in a way, until it is released; user
// is whose purchase is waited for. The error is a problem to answer with.
func (s *Server) hold(ctx context.Context, way, user string) (release func(), err error) {
	giveBack, err := s.connections.take(clientAddress(ctx), user)
	if err != nil {
		s.Hub.metrics.refused.WithLabelValues(way).Inc()
		return nil, err
	}
	gauge := s.Hub.metrics.subscribers.WithLabelValues(way)
	gauge.Inc()
	return func() {
		gauge.Dec()
		giveBack()
	}, nil
}
