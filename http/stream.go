package http

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"
	"github.com/r3labs/sse/v2"
)

const (
	// streamHeartbeat is after how long a silent stream says that it is alive.
	streamHeartbeat = 15 * time.Second
	// streamWriteTimeout is how long a client may stall before it is cut off.
	streamWriteTimeout = 5 * time.Second
	// streamRetry is after how many milliseconds EventSource comes back.
	streamRetry = "1000"
)

// streams serves server-sent events over r3labs/sse. Every connection gets a
// stream of its own: who is told what is the hubs' business, so one slow reader
// is nobody else's. The library is safe in this use only: nothing is replayed,
// nothing created by itself, one event is under way at most, and a stream is
// removed after its subscriber left.
type streams struct {
	resume func(connection) // serves what else a client asks
	server *sse.Server

	mu      sync.Mutex
	open    map[*stream]bool
	idling  map[*takenOver]bool // whose streams have ended
	stopped bool                // streams end at once
	closed  bool                // and connections are closed
	serving sync.WaitGroup
}

func newStreams(resume func(connection)) *streams {
	s := &streams{open: make(map[*stream]bool), idling: make(map[*takenOver]bool), resume: resume}
	s.server = sse.NewWithCallback(nil, func(id string, _ *sse.Subscriber) { s.server.RemoveStream(id) })
	s.server.AutoReplay = false
	s.server.AutoStream = false
	s.server.BufferSize = 1
	s.server.SplitData = true
	s.server.Headers = map[string]string{
		"Cache-Control":     "no-store",
		"X-Accel-Buffering": "no", // nginx would hold events back
	}
	return s
}

// stop ends all streams properly: their clients come back, to another node.
func (s *streams) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	for stream := range s.open {
		stream.end()
	}
}

// closeIdle closes the connections of streams that have ended, now and from now on.
func (s *streams) closeIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for client := range s.idling {
		client.Close()
	}
}

// add keeps a stream among those that are open.
func (s *streams) add(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serving.Add(1)
	s.open[st] = true
	if s.stopped {
		st.end()
	}
}

func (s *streams) remove(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, st)
	s.serving.Done()
}

// idle keeps the connection of a stream that has ended as long as any other that is
// idle: its client may ask for more. Only then net/http gets it back, with all that it takes.
func (s *streams) idle(client *takenOver, asked func(time.Duration) bool) {
	if !s.mayIdle(client) {
		client.Close()
		return
	}
	again := asked(idleTimeout)
	s.mu.Lock()
	delete(s.idling, client)
	s.mu.Unlock()
	if again {
		s.resume(client.connection)
	} else {
		client.Close()
	}
}

func (s *streams) mayIdle(client *takenOver) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.idling[client] = true
	}
	return !s.closed
}

// stream is what one client is sent. Whoever has news leaves it here and never
// waits: the client is sent the latest when it has taken what came before.
type stream struct {
	all *streams
	id  string

	mu        sync.Mutex
	heartbeat *time.Timer
	heardAt   time.Time // by the client, last
	under     bool      // something is under way to the client
	latest    *sse.Event
	ended     bool
	finish    func() // lets the library's subscriber leave, which ends the answer
	gone      bool
}

func (s *streams) new() *stream { return &stream{all: s, id: uuid.NewString(), under: true} }

// send sends an event, which others may be sent too. It takes the place of one that
// the client was too slow for.
func (st *stream) send(event *sse.Event) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended {
		return
	}
	st.latest = event
	st.advance()
}

// sendLast sends an event and ends the stream.
func (st *stream) sendLast(event *sse.Event) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.ended {
		st.latest, st.ended = event, true
		st.advance()
	}
}

// end ends the stream after what was sent.
func (st *stream) end() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.ended {
		st.ended = true
		st.advance()
	}
}

// beat shows a client that has heard nothing for long that the stream is alive.
func (st *stream) beat() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended || st.gone {
		return
	}
	silent := time.Since(st.heardAt)
	if silent >= streamHeartbeat && !st.under {
		st.latest = &sse.Event{Comment: []byte("alive")}
		st.advance()
		silent = 0
	}
	st.heartbeat.Reset(max(streamHeartbeat-silent, time.Second))
}

// arrived says that the client, or its connection, has taken what was under way.
func (st *stream) arrived() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.under = false
	st.heardAt = time.Now()
	if st.heartbeat == nil {
		st.heartbeat = time.AfterFunc(streamHeartbeat, st.beat)
	}
	st.advance()
}

// advance sends what is next, unless something is under way.
func (st *stream) advance() {
	switch {
	case st.under || st.gone:
	case st.latest != nil:
		st.under = true
		event := st.latest
		st.latest = nil
		st.all.server.TryPublish(st.id, event) // there is room: nothing is under way
	case st.ended:
		st.finish()
	}
}

// isOver reports whether nothing follows what is under way.
func (st *stream) isOver() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.ended && st.latest == nil
}

// leave forgets the client.
func (st *stream) leave() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.gone = true
	if st.heartbeat != nil {
		st.heartbeat.Stop()
	}
}

// answer is an answer of the API that is the stream; see serve.
func (st *stream) answer(left func()) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		st.serve(w, r, left)
	}}
}

// serve answers with the stream and calls left when it has ended. That may be
// after it has returned: a client can wait for long, and what net/http keeps for
// it in the meantime is more than the rest of it.
func (st *stream) serve(w http.ResponseWriter, r *http.Request, left func()) {
	st.all.add(st)
	if client, ok := takeOver(w, r); ok {
		go func() {
			asked, ended := st.over(client)
			st.all.remove(st)
			left()
			if ended {
				st.all.idle(client, asked)
			} else {
				client.Close()
			}
		}()
		return
	}
	defer left()
	defer st.all.remove(st)
	ctx, cut := context.WithCancel(r.Context())
	defer cut()
	control := http.NewResponseController(w)
	st.run(ctx, &responseWire{ResponseWriter: w, control: control, stream: st, cut: cut})
	// The end needs a deadline too.
	_ = control.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
}

// over answers on a connection of its own. It returns how to wait for the client to
// ask for more, and whether the stream has ended as it should.
func (st *stream) over(client *takenOver) (asked func(time.Duration) bool, ended bool) {
	ctx, cut := context.WithCancel(context.Background())
	defer cut()
	asked = client.watch(cut)
	wire := &connectionWire{client: client, stream: st, cut: cut}
	st.run(ctx, wire)
	return asked, wire.end() == nil
}

// run has the library write to a wire until the stream ends or the context does.
func (st *stream) run(ctx context.Context, wire http.ResponseWriter) {
	ctx, st.finish = context.WithCancel(ctx)
	defer st.finish() // which removes the stream, too
	st.all.server.CreateStream(st.id)
	request := (&http.Request{URL: &url.URL{RawQuery: "stream=" + st.id}}).WithContext(ctx)
	st.all.server.ServeHTTP(wire, request)
	st.leave()
}
