package http

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// readyTimeout is how long a notice may take through the database and back.
const readyTimeout = 2 * time.Second

type healthAnswer struct {
	Body struct {
		Status string `json:"status" example:"ok"`
	}
}

func (s *Server) registerHealth() {
	huma.Register(s.api, huma.Operation{
		OperationID: "healthz",
		Method:      http.MethodGet,
		Path:        "/healthz",
		Summary:     "The process is alive",
		Tags:        []string{"health"},
	}, func(context.Context, *struct{}) (*healthAnswer, error) { return healthy(), nil })
	huma.Register(s.api, withCodes(huma.Operation{
		OperationID: "readyz",
		Method:      http.MethodGet,
		Path:        "/readyz",
		Summary:     "It can sell",
		Description: "Sends a notice through the database and waits until it is heard. While nothing listens, it says so at once.",
		Tags:        []string{"health"},
	}, "unavailable"), s.ready)
}

func healthy() *healthAnswer {
	answer := &healthAnswer{}
	answer.Body.Status = "ok"
	return answer
}

func (s *Server) ready(ctx context.Context, _ *struct{}) (*healthAnswer, error) {
	select {
	case <-s.stopping:
		return nil, problem("unavailable")
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := s.Listener.Ping(ctx); err != nil {
		s.logger.Warn("not ready", "error", err)
		return nil, problem("unavailable")
	}
	return healthy(), nil
}
