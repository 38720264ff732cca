package http

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

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
	}, "sale_not_found", "rate_limited", "overloaded", "unavailable"), s.followSale)
}

func (s *Server) followSale(ctx context.Context, in *saleEventsInput) (*huma.StreamResponse, error) {
	id, err := parseSaleID(in.SaleID)
	if err != nil {
		return nil, err
	}
	watcher := &saleWatcher{stream: s.streams.new()}
	current, watch, err := s.SaleHub.Watch(ctx, id, watcher)
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
	release, err := s.hold(ctx, bySaleEvents, "")
	if err != nil {
		watch.Stop()
		return nil, err
	}
	return watcher.stream.answer(func() {
		release()
		watch.Stop()
	}), nil
}

// saleWatcher is told of a sale by server-sent events.
type saleWatcher struct{ stream *stream }

// Show implements SaleWatcher.
func (w *saleWatcher) Show(update SaleUpdate) {
	if update.Closed {
		w.stream.sendLast(update.event)
	} else {
		w.stream.send(update.event)
	}
}
