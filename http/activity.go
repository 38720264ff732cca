package http

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"seckill/http/auth"
	"seckill/projections"
)

type activityInput struct {
	SaleID  string `path:"saleId" example:"1001"`
	Seconds int    `query:"seconds" default:"60" minimum:"1" maximum:"3600" doc:"How far to look back."`
}

// ActivitySecond is what happened in one second of a sale.
type ActivitySecond struct {
	Second     time.Time `json:"second" doc:"Its beginning, by the database's clock."`
	Requests   int64     `json:"requests" doc:"Purchases accepted." example:"1200"`
	Confirmed  int64     `json:"confirmed" example:"300"`
	Rejected   int64     `json:"rejected" example:"900"`
	TurnedAway int64     `json:"turnedAway" doc:"Purchases refused at the door." example:"4000"`
}

type activityAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Body         struct {
		Seconds    []ActivitySecond `json:"seconds" nullable:"false" doc:"Those in which anything happened, oldest first. The last moment is not in them yet."`
		ServerTime time.Time        `json:"serverTime"`
	}
}

func (s *Server) registerActivity() {
	huma.Register(s.api, compressed(withRoles(withCodes(huma.Operation{
		OperationID: "get-sale-activity",
		Method:      http.MethodGet,
		Path:        "/sales/{saleId}/activity",
		Summary:     "What happened, second by second",
		Description: "Requests, confirmations and refusals of the latest seconds, for the operator's chart.",
		Tags:        []string{"sales"},
	}, "sale_not_found", "invalid_request", "unavailable"), auth.Operator)), s.getActivity)
}

func (s *Server) getActivity(ctx context.Context, in *activityInput) (*activityAnswer, error) {
	id, err := parseSaleID(in.SaleID)
	if err != nil {
		return nil, err
	}
	sale, err := projections.GetSale(ctx, s.Read, id)
	if errors.Is(err, projections.ErrNotFound) {
		return nil, problem("sale_not_found")
	}
	if err != nil {
		return nil, s.internalProblem(ctx, "read a sale", err)
	}
	seconds, err := projections.GetActivity(ctx, s.Read, id, time.Duration(in.Seconds)*time.Second)
	if err != nil {
		return nil, s.internalProblem(ctx, "read the activity of a sale", err)
	}
	answer := &activityAnswer{CacheControl: "no-store"}
	answer.Body.ServerTime = sale.ServerTime.UTC()
	answer.Body.Seconds = make([]ActivitySecond, len(seconds))
	for i, second := range seconds {
		answer.Body.Seconds[i] = ActivitySecond{
			Second: second.Second.UTC(), Requests: second.Requests, Confirmed: second.Confirmed,
			Rejected: second.Rejected, TurnedAway: second.TurnedAway,
		}
	}
	return answer, nil
}
