package http

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/r3labs/sse/v2"

	"seckill/http/auth"
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
	huma.Register(s.api, withTicket(withRoles(withCodes(huma.Operation{
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
	}, "request_not_found", "rate_limited", "overloaded", "unavailable"), auth.Buyer, auth.Operator)), s.followPurchase)
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
	waiter := &eventsWaiter{stream: s.streams.new(), tongue: tongueOf(in.AcceptLanguage)}
	if purchase, ok := s.refused(ctx, in.RequestID); ok {
		waiter.stream.sendLast(purchaseEvent(refusalBody(in.RequestID, purchase, waiter.tongue)))
		return waiter.stream.answer(func() {}), nil
	}
	id, err := parseRequestID(in.RequestID)
	if err != nil {
		return nil, s.purchaseProblem(ctx, err)
	}
	purchase, watch, err := s.Hub.Watch(ctx, id, waiter)
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
		waiter.Tell(purchase)
		return waiter.stream.answer(func() {}), nil
	}
	release, err := s.hold(ctx, bySSE, purchase.UserID)
	if err != nil {
		watch.Stop()
		return nil, err
	}
	waiter.stream.send(purchaseEvent(bodyOf(purchase, waiter.tongue)))
	return waiter.stream.answer(func() {
		release()
		watch.Stop()
	}), nil
}

// eventsWaiter is told by server-sent events.
type eventsWaiter struct {
	stream *stream
	tongue tongue
}

// Tell implements Waiter.
func (w *eventsWaiter) Tell(purchase projections.Purchase) {
	w.stream.sendLast(purchaseEvent(bodyOf(purchase, w.tongue)))
}

// nothingMore is the answer to a client that has seen the last event: EventSource
// then stops.
func nothingMore() *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		ctx.SetHeader("Cache-Control", "no-store")
		ctx.SetStatus(http.StatusNoContent)
	}}
}

// purchaseEvent is the event that shows a purchase as it stands.
func purchaseEvent(body PurchaseBody) *sse.Event {
	data, _ := json.Marshal(body) // strings, numbers and times always encode
	if body.Status == string(projections.StatusProcessing) {
		return &sse.Event{ID: eventID(processingEventID), Event: []byte("processing"), Data: data, Retry: []byte(streamRetry)}
	}
	return &sse.Event{ID: eventID(resultEventID), Event: []byte("result"), Data: data}
}

func eventID(id int) []byte { return []byte(strconv.Itoa(id)) }
