package http

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"

	"seckill/domain"
	"seckill/http/auth"
	"seckill/projections"
	"seckill/purchasing"
)

type purchaseInput struct {
	SaleID         string `path:"saleId" doc:"Which sale." example:"1001"`
	AcceptLanguage string `header:"Accept-Language" hidden:"true"`
	IdempotencyKey string `header:"Idempotency-Key" pattern:"^[\\x21-\\x7e]+$" patternDescription:"visible ASCII" minLength:"1" maxLength:"255" doc:"Makes a repeated POST the same purchase, for 24 hours: a new one for each press, such as b1f7e1d2-5a0e-4c63-9d0a-0c6c7f1f7a55."`
	Traceparent    string `header:"Traceparent" hidden:"true"`
	Body           struct {
		UserID   string `json:"userId,omitempty" minLength:"1" maxLength:"64" doc:"Who buys. Required in trust mode." example:"42"`
		Quantity int    `json:"quantity,omitempty" default:"1" minimum:"1" doc:"How many units." example:"1"`
	}
}

// Resolve implements huma.Resolver: an empty key is not the same as none.
func (in *purchaseInput) Resolve(ctx huma.Context) []error {
	r, _ := humago.Unwrap(ctx)
	if _, present := r.Header["Idempotency-Key"]; present && in.IdempotencyKey == "" {
		return []error{&huma.ErrorDetail{Location: "header.Idempotency-Key", Message: "must have 1 to 255 characters"}}
	}
	return nil
}

type purchaseAccepted struct {
	Location     string `header:"Location" doc:"Where the result will be."`
	CacheControl string `header:"Cache-Control"`
	Body         PurchaseBody
}

type purchaseQuery struct {
	RequestID      string `path:"requestId" doc:"What the 202 answer said." example:"01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f"`
	AcceptLanguage string `header:"Accept-Language" hidden:"true"`
	Wait           string `query:"wait" doc:"How long to wait for the result, at most 30s: a duration or a number of seconds." example:"30s"`
	Prefer         string `header:"Prefer" doc:"wait=N waits N seconds (RFC 7240). The query beats it." example:"wait=30"`
}

type purchaseAnswer struct {
	CacheControl      string `header:"Cache-Control"`
	Vary              string `header:"Vary"`
	PreferenceApplied string `header:"Preference-Applied" doc:"Which wait of Prefer was applied."`
	Body              PurchaseBody
}

func (s *Server) registerPurchases() {
	huma.Register(s.api, rateLimitHeaders(withRoles(withCodes(huma.Operation{
		OperationID:   "request-purchase",
		Method:        http.MethodPost,
		Path:          "/sales/{saleId}/purchases",
		Summary:       "Press the button",
		Description:   "Takes the purchase in and answers at once. 202 means durable: it will be decided, whatever dies.",
		Tags:          []string{"purchases"},
		Middlewares:   huma.Middlewares{s.shed, s.limitSubmits},
		DefaultStatus: http.StatusAccepted,
		Responses: map[string]*huma.Response{"202": {
			Description: "Accepted. Ask the links for the result.",
			Content:     exampleContent("#/components/schemas/PurchaseBody", examplePurchase(projections.StatusProcessing)),
		}},
	}, withBody("sale_not_found", "sale_not_open", "sale_paused", "sale_closed", "sold_out", "user_required", "quantity_over_limit",
		"idempotency_key_reused", "rate_limited", "overloaded", "unavailable")...), auth.Buyer)), s.requestPurchase)

	huma.Register(s.api, rateLimitHeaders(withRoles(withCodes(huma.Operation{
		OperationID: "get-purchase",
		Method:      http.MethodGet,
		Path:        "/purchases/{requestId}",
		Summary:     "What became of it",
		Middlewares: huma.Middlewares{s.limitPolls},
		Description: "Answers as things stand, or with wait as soon as there is a result: then `processing` means that there is none yet.",
		Tags:        []string{"purchases"},
		Responses: map[string]*huma.Response{"200": {
			Description: "The purchase.",
			Content:     exampleContent("#/components/schemas/PurchaseBody", examplePurchase(projections.StatusSucceeded)),
		}},
	}, "request_not_found", "invalid_request", "rate_limited", "overloaded", "unavailable"), auth.Buyer, auth.Operator)), s.getPurchase)
}

// shed refuses a purchase of a sale that is behind before anything else is done for
// it. In an overload most are refused, and what that costs is taken from deciding.
func (s *Server) shed(ctx huma.Context, next func(huma.Context)) {
	if saleID, err := parseSaleID(ctx.Param("saleId")); err == nil && s.Intake.Overloaded(saleID) {
		_, w := humago.Unwrap(ctx)
		problem("overloaded").write(w)
		return
	}
	next(ctx)
}

func exampleContent(schema string, example any) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Ref: schema}, Example: example}}
}

func (s *Server) requestPurchase(ctx context.Context, in *purchaseInput) (*purchaseAccepted, error) {
	saleID, err := parseSaleID(in.SaleID)
	if err != nil {
		return nil, err
	}
	user, err := actor(ctx, in.Body.UserID)
	if err != nil {
		return nil, err
	}
	if invalid, ok := errors.AsType[*domain.InvalidError](domain.CheckUserID(user)); ok {
		return nil, invalidField(invalid)
	}
	purchase, err := s.submit(ctx, purchasing.Request{
		SaleID:   saleID,
		UserID:   user,
		Quantity: in.Body.Quantity,
		Metadata: requestMetadata(ctx, user, in.Traceparent),
		Key:      in.IdempotencyKey,
		BodyHash: bodyHash(saleID, in.Body.Quantity),
	})
	if err != nil {
		return nil, s.submitProblem(ctx, err)
	}
	body := s.shown(ctx, bodyOf(purchase, tongueOf(in.AcceptLanguage)))
	return &purchaseAccepted{Location: body.Links.Self, CacheControl: "no-store", Body: body}, nil
}

// submit takes a purchase in and returns it as it stands: processing, or for a
// repeated request whatever has become of the first.
func (s *Server) submit(ctx context.Context, request purchasing.Request) (projections.Purchase, error) {
	accepted, err := s.Intake.Submit(ctx, request)
	if err != nil {
		return projections.Purchase{}, err
	}
	if accepted.Replay {
		return s.Hub.Get(ctx, accepted.RequestID)
	}
	purchase := projections.Purchase{
		RequestID:  accepted.RequestID,
		Version:    1,
		SaleID:     request.SaleID,
		UserID:     request.UserID,
		Quantity:   request.Quantity,
		Status:     projections.StatusProcessing,
		AcceptedAt: accepted.AcceptedAt,
	}
	s.Hub.Accepted(purchase)
	return purchase, nil
}

// submitProblem is what a buyer sees of an error of submit.
func (s *Server) submitProblem(ctx context.Context, err error) *Problem {
	var (
		quantity    *purchasing.QuantityError
		refused     *purchasing.RefusedError
		unavailable *purchasing.UnavailableError
	)
	switch {
	case errors.Is(err, purchasing.ErrSaleNotFound):
		return problem("sale_not_found")
	case errors.Is(err, purchasing.ErrKeyReused):
		return problem("idempotency_key_reused")
	case errors.Is(err, purchasing.ErrOverloaded):
		return problem("overloaded")
	case errors.Is(err, purchasing.ErrStopped):
		return problem("unavailable")
	case errors.As(err, &quantity):
		return problem("quantity_over_limit", &huma.ErrorDetail{Location: "body.quantity", Message: quantity.Error()})
	case errors.As(err, &refused):
		return problem(string(refused.Reason))
	case errors.As(err, &unavailable):
		p := s.internalProblem(ctx, "take a purchase in", err)
		p.RequestID = unavailable.RequestID.String()
		p.Detail = "It is not known whether the request was taken in. Ask for requestId in a moment, or send it again with the same Idempotency-Key."
		return p
	default:
		return s.internalProblem(ctx, "take a purchase in", err)
	}
}

func (s *Server) getPurchase(ctx context.Context, in *purchaseQuery) (*purchaseAnswer, error) {
	wait, err := parseWait(in.Wait, in.Prefer)
	if err != nil {
		return nil, err
	}
	answer := &purchaseAnswer{CacheControl: "no-store", Vary: "Prefer, Accept-Language", PreferenceApplied: wait.applied}
	if purchase, ok := s.refused(ctx, in.RequestID); ok {
		answer.Body = refusalBody(in.RequestID, purchase, tongueOf(in.AcceptLanguage))
		return answer, nil
	}
	purchase, err := s.await(ctx, in.RequestID, wait.limit)
	if err != nil {
		return nil, s.purchaseProblem(ctx, err)
	}
	answer.Body = s.shown(ctx, bodyOf(purchase, tongueOf(in.AcceptLanguage)))
	return answer, nil
}

// await returns a purchase once it is decided, or as it stands when the limit is
// over, the client is gone or the server stops.
func (s *Server) await(ctx context.Context, requestID string, limit time.Duration) (projections.Purchase, error) {
	id, err := parseRequestID(requestID)
	if err != nil {
		return projections.Purchase{}, err
	}
	if limit == 0 {
		purchase, err := s.Hub.Get(ctx, id)
		return seen(ctx, purchase, err)
	}
	decided := make(Mailbox, 1)
	purchase, watch, err := s.Hub.Watch(ctx, id, decided)
	if err != nil || watch == nil {
		return seen(ctx, purchase, err)
	}
	defer watch.Stop()
	if _, err := seen(ctx, purchase, nil); err != nil {
		return projections.Purchase{}, err
	}
	release, err := s.hold(ctx, byLongPoll, purchase.UserID)
	if err != nil {
		return projections.Purchase{}, err
	}
	defer release()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case purchase = <-decided:
	case <-timer.C:
	case <-ctx.Done():
	case <-s.stopping:
	}
	return purchase, nil
}

// seen passes on what was read of a purchase, unless it is not for the caller: then there
// is no such purchase.
func seen(ctx context.Context, purchase projections.Purchase, err error) (projections.Purchase, error) {
	if err == nil && !sees(ctx, purchase.UserID) {
		return projections.Purchase{}, projections.ErrNotFound
	}
	return purchase, err
}

// refusalBody shows a refusal at the door under the ID that it was given.
func refusalBody(requestID string, p projections.Purchase, t tongue) PurchaseBody {
	body := bodyOf(p, t)
	body.RequestID = requestID
	body.Links = linksOf(requestID)
	return body
}

func (s *Server) purchaseProblem(ctx context.Context, err error) *Problem {
	if errors.Is(err, projections.ErrNotFound) {
		return problem("request_not_found")
	}
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	return s.internalProblem(ctx, "read a purchase", err)
}

// parseRequestID reads a request ID as the service writes it. A malformed one is
// simply not found.
func parseRequestID(text string) (uuid.UUID, error) {
	if len(text) != 36 {
		return uuid.UUID{}, projections.ErrNotFound
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.UUID{}, projections.ErrNotFound
	}
	return id, nil
}

// bodyHash is what makes two requests of a buyer the same for an idempotency key.
func bodyHash(saleID int64, quantity int) []byte {
	hash := sha256.New()
	var numbers [16]byte
	binary.BigEndian.PutUint64(numbers[:8], uint64(saleID))
	binary.BigEndian.PutUint64(numbers[8:], uint64(quantity))
	hash.Write(numbers[:])
	return hash.Sum(nil)
}
