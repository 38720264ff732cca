package http

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// idlers are the connections of net/http on which nothing is under way: between two
// requests, or before the first has arrived. Each takes a file and some 17 KB for as long
// as its client likes, so those that have been idle for longest make room for others.
type idlers struct {
	isFull func(idle, open int) bool

	mu       sync.Mutex
	open     int // of net/http, idle or not
	elements map[net.Conn]*list.Element
	order    *list.List // the one that has been idle for longest in front
}

func newIdlers(isFull func(idle, open int) bool) *idlers {
	return &idlers{isFull: isFull, elements: make(map[net.Conn]*list.Element), order: list.New()}
}

// changed is http.Server.ConnState.
func (i *idlers) changed(conn net.Conn, state http.ConnState) {
	if evicted := i.note(conn, state); evicted != nil {
		go evicted.Close() // which says goodbye over TLS
	}
}

// note returns the connection that has to make room, or nil.
func (i *idlers) note(conn net.Conn, state http.ConnState) net.Conn {
	i.mu.Lock()
	defer i.mu.Unlock()
	if element, ok := i.elements[conn]; ok {
		i.order.Remove(element)
		delete(i.elements, conn)
	}
	switch state {
	case http.StateNew:
		i.open++
		i.elements[conn] = i.order.PushBack(conn)
	case http.StateIdle:
		i.elements[conn] = i.order.PushBack(conn)
	case http.StateHijacked, http.StateClosed: // each connection ends by one of the two
		i.open--
	}
	if i.order.Len() == 0 || !i.isFull(i.order.Len(), i.open) {
		return nil
	}
	evicted := i.order.Remove(i.order.Front()).(net.Conn)
	delete(i.elements, evicted)
	return evicted
}

// tooManyIdle reports whether a connection that is idle has to go: there are more than
// may be, or the files that are kept for those who ask run out.
func (c *connections) tooManyIdle(idle, open int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bounds.Idle > 0 && idle > c.bounds.Idle ||
		c.most > 0 && c.open+open > c.most+spareDescriptors/2
}
