package http

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/r3labs/sse/v2"

	"seckill/projections"
)

// The IDs of a purchase's two events. Who has seen the last one needs no more.
const (
	processingEventID = 1
	resultEventID     = 2
)

type purchaseEventsInput struct {
	RequestID      string `path:"requestId" example:"01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f"`
	AcceptLanguage string `header:"Accept-Language" hidden:"true"`
	LastEventID    string `header:"Last-Event-ID" doc:"What EventSource sends when it reconnects."`
}

func (s *Server) registerEvents() {
	huma.Register(s.api, withCodes(huma.Operation{
		OperationID: "follow-purchase",
		Method:      http.MethodGet,
		Path:        "/purchases/{requestId}/events",
		Summary:     "The result by server-sent events",
		Description: "Sends `processing` (id 1) with the state as it is, then `result` (id 2) the moment the purchase is decided, and ends. " +
			"The data of both is the body of `GET /purchases/{requestId}`. Comments every 15 seconds show that the stream is alive. " +
			"A client that comes back with Last-Event-ID 2 gets 204, so that EventSource stops.",
		Tags: []string{"purchases"},
		Responses: map[string]*huma.Response{
			"200": {
				Description: "The stream.",
				Content: map[string]*huma.MediaType{"text/event-stream": {
					Schema:  &huma.Schema{Type: huma.TypeString},
					Example: exampleStream(),
				}},
			},
			"204": {Description: "The client has seen the result already."},
		},
	}, "request_not_found", "unavailable"), s.followPurchase)
}

func exampleStream() string {
	processing, _ := json.Marshal(examplePurchase(projections.StatusProcessing))
	result, _ := json.Marshal(examplePurchase(projections.StatusSucceeded))
	return "id: 1\ndata: " + string(processing) + "\nevent: processing\nretry: " + streamRetry +
		"\n\nid: 2\ndata: " + string(result) + "\nevent: result\n\n"
}

func (s *Server) followPurchase(ctx context.Context, in *purchaseEventsInput) (*huma.StreamResponse, error) {
	if seen, err := strconv.Atoi(in.LastEventID); err == nil && seen >= resultEventID {
		return nothingMore(), nil
	}
	t := tongueOf(in.AcceptLanguage)
	if purchase, ok := s.refused(in.RequestID); ok {
		return s.stream(func(_ context.Context, publish publish) {
			publish(purchaseEvent(refusalBody(in.RequestID, purchase, t)))
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
	answer := s.stream(func(ctx context.Context, publish publish) {
		if publish(purchaseEvent(bodyOf(purchase, t))) && watch != nil {
			s.untilDecided(ctx, publish, watch, t)
		}
	})
	if watch == nil {
		return answer, nil
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer watch.Stop() // here, because a client that leaves at once is fed nothing
		defer s.Hub.metrics.subscribed(bySSE)()
		answer.Body(ctx)
	}}, nil
}

// nothingMore is the answer to a client that has seen the last event: EventSource
// then stops.
func nothingMore() *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("Cache-Control", "no-store")
		ctx.SetStatus(http.StatusNoContent)
	}}
}

// untilDecided keeps the stream alive until there is a result to send, the client
// is gone or the server stops; in the last case EventSource comes back, to
// another node.
func (s *Server) untilDecided(ctx context.Context, publish publish, watch *Watch, t tongue) {
	heartbeat := time.NewTicker(streamHeartbeat)
	defer heartbeat.Stop()
	for {
		select {
		case purchase := <-watch.Decided:
			publish(purchaseEvent(bodyOf(purchase, t)))
			return
		case <-heartbeat.C:
			if !publish(sse.Event{Comment: []byte("alive")}) {
				return
			}
		case <-ctx.Done():
			return
		case <-s.stopping:
			return
		}
	}
}

func (s *Server) stream(feed func(ctx context.Context, publish publish)) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		s.streams.serve(w, r, feed)
	}}
}

// purchaseEvent is the event that shows a purchase as it stands.
func purchaseEvent(body PurchaseBody) sse.Event {
	data, _ := json.Marshal(body) // strings, numbers and times always encode
	if body.Status == string(projections.StatusProcessing) {
		return sse.Event{ID: eventID(processingEventID), Event: []byte("processing"), Data: data, Retry: []byte(streamRetry)}
	}
	return sse.Event{ID: eventID(resultEventID), Event: []byte("result"), Data: data}
}

func eventID(id int) []byte { return []byte(strconv.Itoa(id)) }
