package http

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"seckill/http/auth"
	"seckill/projections"
)

type requestsInput struct {
	UserID         string `query:"userId" doc:"Whose purchases. Required in trust mode." example:"42"`
	SaleID         int64  `query:"saleId" required:"true" minimum:"1" doc:"Of which sale." example:"1001"`
	Cursor         string `query:"cursor" doc:"The next of the answer before."`
	Limit          int    `query:"limit" default:"20" minimum:"1" maximum:"100"`
	AcceptLanguage string `header:"Accept-Language" hidden:"true"`
}

type requestsBody struct {
	Purchases []PurchaseBody `json:"purchases" nullable:"false" doc:"Newest first."`
	Next      string         `json:"next,omitempty" doc:"The cursor for more; absent at the end."`
}

type requestsAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Vary         string `header:"Vary"`
	Body         requestsBody
}

func (s *Server) registerRequests() {
	huma.Register(s.api, withRoles(withCodes(huma.Operation{
		OperationID: "list-purchases",
		Method:      http.MethodGet,
		Path:        "/purchases",
		Summary:     "A buyer's purchases of a sale",
		Description: "All that were accepted, decided or not: whoever lost the 202 finds the request here.",
		Tags:        []string{"purchases"},
		Responses: map[string]*huma.Response{"200": {
			Description: "The purchases.",
			Content: exampleContent("#/components/schemas/RequestsBody", requestsBody{
				Purchases: []PurchaseBody{examplePurchase(projections.StatusProcessing)},
			}),
		}},
	}, "user_required", "invalid_request", "unavailable"), auth.Buyer, auth.Operator), s.listRequests)
	huma.Register(s.api, withRoles(withCodes(huma.Operation{
		OperationID: "get-purchase-history",
		Method:      http.MethodGet,
		Path:        "/purchases/{requestId}/history",
		Summary:     "All that happened to it",
		Description: "The events of the purchase and of its order in plain words, for support.",
		Tags:        []string{"purchases"},
		Responses: map[string]*huma.Response{"200": {
			Description: "The events, oldest first.",
			Content:     exampleContent("#/components/schemas/HistoryBody", exampleHistory()),
		}},
	}, "request_not_found", "unavailable"), auth.Buyer, auth.Operator), s.getHistory)
}

func (s *Server) listRequests(ctx context.Context, in *requestsInput) (*requestsAnswer, error) {
	user, err := queriedUser(ctx, in.UserID)
	if err != nil {
		return nil, err
	}
	list := fmt.Sprintf("purchases of sale %d by %s", in.SaleID, user)
	var after projections.RequestsCursor
	if err := s.readCursor(list, in.Cursor, &after); err != nil {
		return nil, err
	}
	purchases, next, err := s.Purchases.ListPurchases(ctx, s.Read, in.SaleID, user, after, in.Limit)
	if err != nil {
		return nil, s.internalProblem(ctx, "list purchases", err)
	}
	answer := &requestsAnswer{CacheControl: "no-store", Vary: "Accept-Language"}
	answer.Body.Purchases = make([]PurchaseBody, len(purchases))
	for i, purchase := range purchases {
		answer.Body.Purchases[i] = s.shown(ctx, bodyOf(purchase, tongueOf(in.AcceptLanguage)))
	}
	if next != (projections.RequestsCursor{}) {
		answer.Body.Next = s.signCursor(list, next)
	}
	return answer, nil
}
