package http

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"seckill/eventstore"
	"seckill/http/auth"
)

// feedLook is how often a waiting reader of the feed looks for more. Events become
// readable when the oldest transaction in progress ends, of which there is no notice.
const feedLook = 250 * time.Millisecond

type feedInput struct {
	After string `query:"after" doc:"The next of the answer before; nothing for the beginning of the history."`
	Limit int    `query:"limit" default:"100" minimum:"1" maximum:"1000"`
	Wait  string `query:"wait" doc:"How long to wait for the next event where there is none yet, at most 30s." example:"30s"`
}

// FeedEvent is an event as the feed shows it.
type FeedEvent struct {
	TransactionID int64           `json:"transactionId" doc:"The total order is that of transactionId, then position."`
	Position      int64           `json:"position"`
	StreamID      uuid.UUID       `json:"streamId" format:"uuid" doc:"Of a purchase the request ID."`
	Version       int             `json:"version" doc:"Counts the events of the stream from 1."`
	SaleID        int64           `json:"saleId"`
	Type          string          `json:"type"`
	Data          json.RawMessage `json:"data"`
	Metadata      json.RawMessage `json:"metadata"`
	RecordedAt    time.Time       `json:"recordedAt" doc:"By the database's clock."`
}

type feedBody struct {
	Events []FeedEvent `json:"events" nullable:"false" doc:"In the total order."`
	Next   string      `json:"next" doc:"Where to go on; also where there is nothing more yet."`
}

type feedAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Body         feedBody
}

func (s *Server) registerFeed() {
	huma.Register(s.api, compressed(withRoles(withCodes(huma.Operation{
		OperationID: "read-events",
		Method:      http.MethodGet,
		Path:        "/events",
		Summary:     "The history, event by event",
		Description: "For warehouses and analytics. Whoever goes from cursor to cursor gets every event exactly once, however late it was " +
			"committed; cursors stay good over restarts and in a restored copy of the database. A transaction that is in progress anywhere " +
			"in the database's cluster holds the feed back until it ends.",
		Tags: []string{"feed"},
		Responses: map[string]*huma.Response{"200": {
			Description: "The events after the cursor.",
			Content:     exampleContent("#/components/schemas/FeedBody", exampleFeed()),
		}},
	}, "invalid_request", "unavailable"), auth.Operator, auth.Service)), s.readFeed)
}

func exampleFeed() feedBody {
	return feedBody{
		Events: []FeedEvent{{
			TransactionID: 4711,
			Position:      815,
			StreamID:      uuid.MustParse("01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f"),
			Version:       1,
			SaleID:        1001,
			Type:          "PurchaseRequested",
			Data:          json.RawMessage(`{"userId":"42","quantity":1}`),
			Metadata:      json.RawMessage(`{"actor":"42","addressClass":"public"}`),
			RecordedAt:    time.Date(2026, 11, 11, 0, 0, 0, 123456000, time.UTC),
		}},
		Next: "4711.815",
	}
}

func (s *Server) readFeed(ctx context.Context, in *feedInput) (*feedAnswer, error) {
	wait, err := parseWait(in.Wait, "")
	if err != nil {
		return nil, err
	}
	after, ok := parseFeedCursor(in.After)
	if !ok {
		return nil, problem("invalid_request", &huma.ErrorDetail{
			Location: "query.after", Message: "must be the next of an earlier answer", Value: in.After,
		})
	}
	records, err := s.awaitRecords(ctx, after, in.Limit, wait.limit)
	if err != nil {
		return nil, s.internalProblem(ctx, "read the history", err)
	}
	answer := &feedAnswer{CacheControl: "no-store"}
	answer.Body.Events = make([]FeedEvent, len(records))
	for i, record := range records {
		answer.Body.Events[i] = FeedEvent{
			TransactionID: record.TransactionID,
			Position:      record.Position,
			StreamID:      record.StreamID,
			Version:       record.Version,
			SaleID:        record.SaleID,
			Type:          record.Type,
			Data:          record.Data,
			Metadata:      record.Metadata,
			RecordedAt:    record.RecordedAt.UTC(),
		}
		after = record.Cursor
	}
	answer.Body.Next = feedCursor(after)
	return answer, nil
}

// awaitRecords reads the history after a cursor, and looks again for as long as
// there is nothing, up to the limit.
func (s *Server) awaitRecords(ctx context.Context, after eventstore.Cursor, most int, limit time.Duration) ([]eventstore.Record, error) {
	enough := time.NewTimer(limit)
	defer enough.Stop()
	for {
		records, err := s.Store.ReadLog(ctx, s.Read, after, most)
		if err != nil || len(records) > 0 {
			return records, err
		}
		select {
		case <-time.After(feedLook):
		case <-enough.C:
			return nil, nil
		case <-s.stopping:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// feedCursor writes a cursor for the next call. It is not signed, unlike those of
// lists: readers keep it for years, and every place in the history is theirs to see.
func feedCursor(c eventstore.Cursor) string {
	return fmt.Sprintf("%d.%d", c.TransactionID, c.Position)
}

// parseFeedCursor reads what feedCursor wrote; nothing is the beginning.
func parseFeedCursor(text string) (eventstore.Cursor, bool) {
	if text == "" {
		return eventstore.Cursor{}, true
	}
	transaction, position, _ := strings.Cut(text, ".")
	var c eventstore.Cursor
	var err error
	if c.TransactionID, err = strconv.ParseInt(transaction, 10, 64); err != nil {
		return c, false
	}
	if c.Position, err = strconv.ParseInt(position, 10, 64); err != nil {
		return c, false
	}
	return c, c.TransactionID >= 0 && c.Position >= 0 && feedCursor(c) == text
}
