package http

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
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
	huma.Register(s.api, withCodes(huma.Operation{
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
	}, "request_not_found", "forbidden", "upgrade_required", "unavailable"), s.followBySocket)
}

func (s *Server) followBySocket(ctx context.Context, in *purchaseSocketInput) (*huma.StreamResponse, error) {
	t := tongueOf(in.AcceptLanguage)
	if purchase, ok := s.refused(in.RequestID); ok {
		return s.socket(func(_ context.Context, send sendMessage) websocket.StatusCode {
			return sent(send(refusalBody(in.RequestID, purchase, t)))
		}), nil
	}
	id, err := parseRequestID(in.RequestID)
	if err != nil {
		return nil, s.purchaseProblem(ctx, err)
	}
	purchase, watch, err := s.Hub.Watch(ctx, id)
	if err != nil {
		return nil, s.purchaseProblem(ctx, err)
	}
	if watch == nil {
		return s.socket(func(_ context.Context, send sendMessage) websocket.StatusCode {
			return sent(send(bodyOf(purchase, t)))
		}), nil
	}
	answer := s.socket(func(ctx context.Context, send sendMessage) websocket.StatusCode {
		defer watch.Stop() // before the parting, which takes two
		if !send(bodyOf(purchase, t)) {
			return websocket.StatusPolicyViolation
		}
		return s.sendDecision(ctx, send, watch, t)
	})
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer watch.Stop() // here, because what is no WebSocket is sent nothing
		defer s.Hub.metrics.subscribed(bySocket)()
		answer.Body(ctx)
	}}, nil
}

// sendDecision sends the purchase once it is decided, and returns with which code
// to close.
func (s *Server) sendDecision(ctx context.Context, send sendMessage, watch *Watch, t tongue) websocket.StatusCode {
	select {
	case purchase := <-watch.Decided:
		return sent(send(bodyOf(purchase, t)))
	case <-ctx.Done():
		return websocket.StatusGoingAway
	case <-s.stopping:
		return websocket.StatusServiceRestart
	}
}

// sendMessage sends a purchase. It returns false when the client does not keep up.
type sendMessage func(PurchaseBody) bool

// sent is the code to close with after the last message.
func sent(ok bool) websocket.StatusCode {
	if !ok {
		return websocket.StatusPolicyViolation
	}
	return websocket.StatusNormalClosure
}

// socket answers with a WebSocket that feed serves until it returns a code to
// close with. The context of feed ends when the client is gone.
func (s *Server) socket(feed func(ctx context.Context, send sendMessage) websocket.StatusCode) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		if p := s.refuseSocket(r); p != nil {
			p.write(w)
			return
		}
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
			InsecureSkipVerify: true, // of the origin, which refuseSocket has looked at
		}) // which answers for itself where it cannot
		if err != nil {
			return
		}
		s.sockets.Add(1)
		defer s.sockets.Done()
		defer conn.CloseNow()
		// A context that ends in the middle of a call cuts the connection, so only those
		// who wait get the one that ends with the client.
		open := context.WithoutCancel(r.Context())
		alive, gone := context.WithCancelCause(open)
		defer gone(nil)
		go listenUntilGone(open, conn, gone)
		go pingUntilGone(alive, conn, gone)
		code := feed(alive, func(body PurchaseBody) bool {
			data, _ := json.Marshal(body) // strings, numbers and times always encode
			ctx, cancel := context.WithTimeout(open, socketTimeout)
			defer cancel()
			return conn.Write(ctx, websocket.MessageText, data) == nil
		})
		if cause := context.Cause(alive); errors.Is(cause, errTalks) {
			code = websocket.StatusPolicyViolation
		} else if cause != nil {
			return // there is nobody to part from
		}
		_ = conn.Close(code, "") // who does not answer in time is cut off
	}}
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

// errTalks is why the client that sends messages is closed.
var errTalks = errors.New("the client talks")

// listenUntilGone receives the answers to pings, and notices the client that
// closes or talks. (CloseRead of the library does the same, but takes 15 seconds
// to close whoever talks.)
func listenUntilGone(ctx context.Context, conn *websocket.Conn, gone context.CancelCauseFunc) {
	_, _, err := conn.Reader(ctx)
	if err == nil {
		err = errTalks
	}
	gone(err)
}

// pingUntilGone notices the client that vanishes without a word.
func pingUntilGone(ctx context.Context, conn *websocket.Conn, gone context.CancelCauseFunc) {
	heartbeat := time.NewTicker(socketHeartbeat)
	defer heartbeat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-heartbeat.C:
		}
		pinging, cancel := context.WithTimeout(ctx, socketTimeout)
		err := conn.Ping(pinging)
		cancel()
		if err != nil {
			gone(err)
			return
		}
	}
}
