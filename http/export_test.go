package http

import "github.com/google/uuid"

// Waiters is how many wait for a request at this moment.
func (h *Hub) Waiters(id uuid.UUID) int {
	shard := h.shard(id)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if e, ok := shard.entries[id]; ok {
		return len(e.waiters)
	}
	return 0
}

// Knows reports whether the hub keeps anything of a request.
func (h *Hub) Knows(id uuid.UUID) bool {
	shard := h.shard(id)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	_, ok := shard.entries[id]
	return ok
}

// NewSaleHubOf returns a hub of sales that come from elsewhere than a database.
var NewSaleHubOf = newSaleHub

// Watched is how many sales are watched at this moment.
func (h *SaleHub) Watched() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.sales)
}

// Connections is how many connections wait or watch, and for how many addresses and
// users together something is kept.
func (s *Server) Connections() (open, kept int) {
	s.connections.mu.Lock()
	defer s.connections.mu.Unlock()
	return s.connections.open, len(s.connections.addresses) + len(s.connections.users)
}

// BoundConnections sets how many connections may wait or watch in all.
func (s *Server) BoundConnections(most int) {
	s.connections.mu.Lock()
	defer s.connections.mu.Unlock()
	s.connections.most = most
}

// ProblemStatuses are the codes of the API with their HTTP statuses.
func ProblemStatuses() map[string]int {
	statuses := make(map[string]int, len(problems))
	for code, known := range problems {
		statuses[code] = known.status
	}
	return statuses
}

// ReadyTimeout is how long /readyz waits for its notice.
const ReadyTimeout = readyTimeout

// NewEntrance returns what admits purchases to one of some nodes.
func NewEntrance(perSecond float64, nodes func() int) (admits func() bool) {
	return newEntrance(perSecond, nodes).admits
}

// NewUserLimit returns what counts the requests of users.
func NewUserLimit(perSecond float64) (take func(user string) bool) {
	limit := newKeyedLimit[string]("user", perSecond)
	return func(user string) bool { return limit.take(user).ok }
}
