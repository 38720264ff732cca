package http

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"
)

// connection is a client's connection, with what was read of its next request.
type connection struct {
	net.Conn

	early []byte
}

// Read implements io.Reader.
func (c *connection) Read(p []byte) (int, error) {
	if len(c.early) > 0 {
		n := copy(p, c.early)
		c.early = c.early[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// takenOver is a connection on which net/http leaves the rest of an answer to us.
// For one that waits it would keep a stack that has been deep, three buffers and
// the request: some 30 KB.
type takenOver struct {
	connection

	header http.Header // as far as it is set already
}

// takeOver takes the connection of a request over, where that is possible: HTTP/2
// has many requests on one connection, HTTP/1.0 knows no chunks, HEAD asks for no
// body, and where the request has one, only net/http knows where the next begins: to take
// a body for a request would answer what nobody asked. The handler must return soon then.
func takeOver(w http.ResponseWriter, r *http.Request) (*takenOver, bool) {
	if r.Method != http.MethodGet || r.ProtoMajor != 1 || r.ProtoMinor != 1 || r.Close || r.ContentLength != 0 {
		return nil, false
	}
	header := maps.Clone(w.Header())
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, false
	}
	early, _ := buffered.Peek(buffered.Reader.Buffered()) // what is buffered is there
	taken := &takenOver{connection: connection{Conn: conn, early: bytes.Clone(early)}, header: header}
	_ = conn.SetDeadline(time.Time{}) // those of net/http are over
	return taken, true
}

// watch calls left when the client leaves. The function that it returns waits so
// long for the client to ask for more, and reports whether it did.
func (t *takenOver) watch(left func()) (asked func(within time.Duration) bool) {
	var (
		first   [1]byte
		n       int
		reading sync.WaitGroup
	)
	reading.Go(func() {
		var err error
		if n, err = t.Conn.Read(first[:]); err != nil {
			left()
		}
	})
	return func(within time.Duration) bool {
		if len(t.early) > 0 { // it has asked already
			within = 0
		}
		_ = t.SetReadDeadline(time.Now().Add(within)) // else reading fails as well
		reading.Wait()
		t.early = append(t.early, first[:n]...)
		return len(t.early) > 0 && t.SetReadDeadline(time.Time{}) == nil
	}
}

// resume has the server serve whatever else is asked on a connection that was
// taken over.
func (s *Server) resume(c connection) {
	// Serve returns when the listener has nothing more, and what it has accepted
	// goes on. It closes nothing where the server has stopped.
	listener := &oneConnection{conn: c.Conn}
	if len(c.early) > 0 {
		listener.conn = &c
	}
	if err := s.server.Serve(listener); errors.Is(err, http.ErrServerClosed) {
		c.Close()
	}
}

// oneConnection is a listener that accepts the one it has.
type oneConnection struct {
	conn net.Conn
	done bool
}

// Accept implements net.Listener.
func (l *oneConnection) Accept() (net.Conn, error) {
	if l.done {
		return nil, io.EOF
	}
	l.done = true
	return l.conn, nil
}

// Addr implements net.Listener.
func (l *oneConnection) Addr() net.Addr { return l.conn.LocalAddr() }

// Close implements net.Listener.
func (l *oneConnection) Close() error { return nil }
