package http

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/r3labs/sse/v2"
)

const (
	// streamHeartbeat is how often a silent stream says that it is alive.
	streamHeartbeat = 15 * time.Second
	// streamWriteTimeout is how long a client may stall before it is cut off.
	streamWriteTimeout = 5 * time.Second
	// streamRetry is after how many milliseconds EventSource comes back.
	streamRetry = "1000"
)

// streams serves server-sent events over r3labs/sse. Every connection gets a
// stream of its own: who is told what is the hub's business, so one slow reader
// is nobody else's. The library is safe in this use only: nothing is replayed,
// nothing created by itself, and a stream is removed after its subscriber left.
type streams struct {
	server *sse.Server

	mu      sync.Mutex
	waiting map[string]chan struct{} // closed when the stream has its subscriber
}

func newStreams() *streams {
	s := &streams{waiting: make(map[string]chan struct{})}
	s.server = sse.NewWithCallback(s.subscribed, func(id string, _ *sse.Subscriber) { s.server.RemoveStream(id) })
	s.server.AutoReplay = false
	s.server.AutoStream = false
	s.server.BufferSize = 8
	s.server.SplitData = true
	s.server.Headers = map[string]string{
		"Cache-Control":     "no-store",
		"X-Accel-Buffering": "no", // nginx would hold events back
	}
	return s
}

func (s *streams) subscribed(id string, _ *sse.Subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.waiting[id])
	delete(s.waiting, id)
}

// publish sends an event of the connection's stream. It returns false when the
// client does not keep up.
type publish func(event sse.Event) bool

// serve answers with a stream that feed fills until it returns, or until the
// client is gone, which ends feed's context. It returns when both are done.
func (s *streams) serve(w http.ResponseWriter, r *http.Request, feed func(ctx context.Context, publish publish)) {
	ctx, cancel := context.WithCancel(r.Context())
	id := uuid.NewString()
	ready := make(chan struct{})
	s.mu.Lock()
	s.waiting[id] = ready
	s.mu.Unlock()
	s.server.CreateStream(id)

	var feeding sync.WaitGroup
	feeding.Go(func() {
		select {
		case <-ready:
		case <-ctx.Done():
			return
		}
		feed(ctx, func(event sse.Event) bool { return s.server.TryPublish(id, &event) })
		s.server.TryPublish(id, &sse.Event{}) // an empty event ends the answer
	})

	r = r.Clone(ctx)
	r.URL.RawQuery = "stream=" + id
	r.Header.Del("Last-Event-ID") // the library would refuse what is not a number
	control := http.NewResponseController(w)
	s.server.ServeHTTP(&deadlineWriter{ResponseWriter: w, control: control, failed: cancel}, r)
	// The end needs a deadline too: that of the last event may have passed long ago.
	_ = control.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
	cancel() // lets the library's subscriber leave, which removes the stream
	feeding.Wait()
}

// deadlineWriter gives every write a deadline, and cuts off the client that lets
// it pass: the library goes on writing whatever happens.
type deadlineWriter struct {
	http.ResponseWriter

	control *http.ResponseController
	failed  func()
}

func (w *deadlineWriter) Write(data []byte) (int, error) {
	n, err := w.ResponseWriter.Write(data)
	if err != nil {
		w.failed()
	}
	return n, err
}

// Flush implements http.Flusher, which the library asks for.
func (w *deadlineWriter) Flush() {
	_ = w.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout)) // where there are no deadlines, as in tests, there are no stalls
	if err := w.control.Flush(); err != nil {
		w.failed()
	}
}
