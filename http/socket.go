package http

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"seckill/http/auth"
)

const (
	// socketHeartbeat is how often a silent socket is asked whether it is alive.
	socketHeartbeat = 15 * time.Second
	// socketTimeout is how long a client may take to receive a message, to answer a
	// ping or to close, before it is cut off.
	socketTimeout = 5 * time.Second
)

type purchaseSocketInput struct {
	RequestID      string `path:"requestId" example:"01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f"`
	AcceptLanguage string `header:"Accept-Language" hidden:"true"`
}

func (s *Server) registerSockets() {
	huma.Register(s.api, withTicket(withRoles(withCodes(huma.Operation{
		OperationID: "follow-purchase-by-socket",
		Method:      http.MethodGet,
		Path:        "/purchases/{requestId}/ws",
		Summary:     "The result by WebSocket",
		Description: "Sends the purchase as it is, and once more the moment it is decided, each as a text message with the body of " +
			"`GET /purchases/{requestId}`; then closes with 1000. A server that stops closes with 1012: come back. " +
			"The client has nothing to say: a message of its own closes the socket.",
		Tags:          []string{"purchases"},
		DefaultStatus: http.StatusSwitchingProtocols,
		Responses: map[string]*huma.Response{
			"101": {Description: "The socket is open."},
		},
	}, "request_not_found", "forbidden", "upgrade_required", "rate_limited", "overloaded", "unavailable"), auth.Buyer, auth.Operator)), s.followBySocket)
}

func (s *Server) followBySocket(ctx context.Context, in *purchaseSocketInput) (*huma.StreamResponse, error) {
	t := tongueOf(in.AcceptLanguage)
	if purchase, ok := s.refused(ctx, in.RequestID); ok {
		return s.socket(nil, func(socket *socket) websocket.StatusCode {
			return socket.last(refusalBody(in.RequestID, purchase, t))
		}), nil
	}
	id, err := parseRequestID(in.RequestID)
	if err != nil {
		return nil, s.purchaseProblem(ctx, err)
	}
	decided := make(Mailbox, 1)
	purchase, watch, err := s.Hub.Watch(ctx, id, decided)
	if err != nil {
		return nil, s.purchaseProblem(ctx, err)
	}
	if !sees(ctx, purchase.UserID) {
		if watch != nil {
			watch.Stop()
		}
		return nil, problem("request_not_found")
	}
	if watch == nil {
		return s.socket(nil, func(socket *socket) websocket.StatusCode {
			return socket.last(bodyOf(purchase, t))
		}), nil
	}
	release, err := s.hold(ctx, bySocket, purchase.UserID)
	if err != nil {
		watch.Stop()
		return nil, err
	}
	return s.socket(func() {
		release()
		watch.Stop()
	}, func(socket *socket) websocket.StatusCode {
		if !socket.send(bodyOf(purchase, t)) {
			return websocket.StatusPolicyViolation
		}
		select {
		case purchase := <-decided:
			return socket.last(bodyOf(purchase, t))
		case <-socket.gone.Done():
			return websocket.StatusGoingAway
		case <-s.stopping:
			return websocket.StatusServiceRestart
		}
	}), nil
}

// socket answers with a WebSocket that feed serves until it returns a code to close
// with; left, if there is one, is called then. The socket has goroutines of its own:
// the one of net/http would keep a stack that has been deep for as long as the
// client waits.
func (s *Server) socket(left func(), feed func(*socket) websocket.StatusCode) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		if left == nil {
			left = func() {}
		}
		r, w := humago.Unwrap(ctx)
		if p := s.refuseSocket(r); p != nil {
			left()
			p.write(w)
			return
		}
		conn, err := websocket.Accept(smallBuffers{w}, r, &websocket.AcceptOptions{
			InsecureSkipVerify: true, // of the origin, which refuseSocket has looked at
		}) // which answers for itself where it cannot
		if err != nil {
			left()
			return
		}
		s.sockets.Go(func() { newSocket(conn).serve(left, feed) })
	}}
}

// socket is the WebSocket of one client.
type socket struct {
	conn  *websocket.Conn
	gone  context.Context // ends when the client is gone; the cause says how
	leave context.CancelCauseFunc
	pings *time.Timer
}

func newSocket(conn *websocket.Conn) *socket {
	s := &socket{conn: conn}
	s.gone, s.leave = context.WithCancelCause(context.Background())
	s.pings = time.AfterFunc(socketHeartbeat, s.ping)
	return s
}

// serve feeds the client until there is nothing more to say, or it is gone.
func (s *socket) serve(left func(), feed func(*socket) websocket.StatusCode) {
	defer s.conn.CloseNow()
	defer s.pings.Stop()
	defer s.leave(nil)
	go s.listen()
	code := feed(s)
	left()            // before the parting, which takes two
	runtime.Gosched() // those who are still to be told come first
	if cause := context.Cause(s.gone); errors.Is(cause, errTalks) {
		code = websocket.StatusPolicyViolation
	} else if cause != nil {
		return // there is nobody to part from
	}
	_ = s.conn.Close(code, "") // who does not answer in time is cut off
}

// send sends a purchase. It returns false when the client does not keep up.
func (s *socket) send(body PurchaseBody) bool {
	data, _ := json.Marshal(body) // strings, numbers and times always encode
	// The library cuts the connection when the context of a call ends, so it is not
	// the one that ends with the client.
	ctx, cancel := context.WithTimeout(context.Background(), socketTimeout)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, data) == nil
}

// last sends the last message and returns the code to close with.
func (s *socket) last(body PurchaseBody) websocket.StatusCode {
	if !s.send(body) {
		return websocket.StatusPolicyViolation
	}
	return websocket.StatusNormalClosure
}

// errTalks is why the client that sends messages is closed.
var errTalks = errors.New("the client talks")

// listen receives the answers to pings, and notices the client that closes or
// talks. (CloseRead of the library does the same, but takes 15 seconds to close
// whoever talks.)
func (s *socket) listen() {
	_, _, err := s.conn.Reader(context.Background())
	if err == nil {
		err = errTalks
	}
	s.leave(err)
}

// ping notices the client that vanishes without a word.
func (s *socket) ping() {
	ctx, cancel := context.WithTimeout(s.gone, socketTimeout)
	defer cancel()
	if err := s.conn.Ping(ctx); err != nil {
		s.leave(err)
		return
	}
	if s.gone.Err() == nil {
		s.pings.Reset(socketHeartbeat)
	}
}

// refuseSocket is why a request gets no WebSocket, or nil. A page of an origin
// that is not allowed gets none: a browser would send it the buyer's cookies.
func (s *Server) refuseSocket(r *http.Request) *Problem {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return problem("upgrade_required")
	}
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(s.Origins, origin) {
		return nil
	}
	if from, err := url.Parse(origin); err != nil || !strings.EqualFold(from.Host, r.Host) {
		return problem("forbidden")
	}
	return nil
}

// socketBuffer is enough for a purchase, and for what a client has to say.
const socketBuffer = 1 << 10

// smallBuffers is a response that gives its connection away with small buffers
// instead of those of net/http, which are 4 KB each.
type smallBuffers struct{ http.ResponseWriter }

// Hijack implements http.Hijacker.
func (w smallBuffers) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, large, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, _ := large.Peek(large.Reader.Buffered()) // what is buffered is there
	in := bufio.NewReaderSize(conn, max(socketBuffer, len(early)))
	if len(early) > 0 {
		in.Reset(bytes.NewReader(early))
		_, _ = in.Peek(len(early)) // the library takes over what is buffered
	}
	return conn, bufio.NewReadWriter(in, bufio.NewWriterSize(conn, socketBuffer)), nil
}
