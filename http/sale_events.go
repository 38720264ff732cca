package http

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/r3labs/sse/v2"

	"seckill/projections"
)

type saleEventsInput struct {
	SaleID      string `path:"saleId" example:"1001"`
	LastEventID string `header:"Last-Event-ID" doc:"What EventSource sends when it reconnects."`
}

func (s *Server) registerSaleEvents() {
	example, _ := json.Marshal(exampleSaleBody())
	huma.Register(s.api, withCodes(huma.Operation{
		OperationID: "follow-sale",
		Method:      http.MethodGet,
		Path:        "/sales/{saleId}/events",
		Summary:     "Live stock and status by server-sent events",
		Description: "Sends `sale` at once and whenever the sale has changed, at most four times a second and then the latest state only; " +
			"ends after the closed state. The id is the revision; the data is the body of `GET /sales/{saleId}` without the figures. " +
			"Comments every 15 seconds show that the stream is alive. A client that comes back to a closed sale with its revision, " +
			"or a later one, as Last-Event-ID gets 204, so that EventSource stops.",
		Tags: []string{"sales"},
		Responses: map[string]*huma.Response{
			"200": {
				Description: "The stream.",
				Content: map[string]*huma.MediaType{"text/event-stream": {
					Schema:  &huma.Schema{Type: huma.TypeString},
					Example: "id: 14\ndata: " + string(example) + "\nevent: sale\nretry: " + streamRetry + "\n\n",
				}},
			},
			"204": {Description: "The sale is closed and the client has seen its last state."},
		},
	}, "sale_not_found", "unavailable"), s.followSale)
}

func (s *Server) followSale(ctx context.Context, in *saleEventsInput) (*huma.StreamResponse, error) {
	id, err := parseSaleID(in.SaleID)
	if err != nil {
		return nil, err
	}
	current, watch, err := s.SaleHub.Watch(ctx, id)
	if errors.Is(err, projections.ErrNotFound) {
		return nil, problem("sale_not_found")
	}
	if err != nil {
		return nil, s.internalProblem(ctx, "watch a sale", err)
	}
	if seen, err := strconv.ParseInt(in.LastEventID, 10, 64); err == nil && current.Closed && seen >= current.Revision {
		watch.Stop()
		return nothingMore(), nil
	}
	answer := s.stream(func(ctx context.Context, publish publish) {
		if publish(current.event) && !current.Closed {
			s.untilClosed(ctx, publish, watch)
		}
	})
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		defer watch.Stop() // here, because a client that leaves at once is fed nothing
		answer.Body(ctx)
	}}, nil
}

// untilClosed tells of the sale until it is closed, the client is gone or the
// server stops; in the last case EventSource comes back, to another node.
func (s *Server) untilClosed(ctx context.Context, publish publish, watch *SaleWatch) {
	heartbeat := time.NewTicker(streamHeartbeat)
	defer heartbeat.Stop()
	for {
		select {
		case update, ok := <-watch.Updates:
			if !ok || !publish(update.event) || update.Closed {
				return
			}
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
