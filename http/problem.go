package http

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"seckill/domain"
)

// Problem is an error answer (RFC 9457) with a stable code beside the human text.
type Problem struct {
	Title     string              `json:"title" doc:"The HTTP status in words." example:"Conflict"`
	Status    int                 `json:"status" doc:"The HTTP status." example:"409"`
	Detail    string              `json:"detail,omitempty" doc:"What happened and what to do, for people."`
	Code      string              `json:"code" doc:"What happened, for programs. Stable." example:"sold_out"`
	Errors    []*huma.ErrorDetail `json:"errors,omitempty" doc:"Where the request is at fault."`
	RequestID string              `json:"requestId,omitempty" doc:"A request whose fate is unknown: ask for it later."`

	retryAfter int // seconds; 0 for no header
}

// Error implements error.
func (p *Problem) Error() string { return p.Code + ": " + p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header {
	header := http.Header{}
	if p.retryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(p.retryAfter))
	}
	if p.Status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", challenge)
	}
	return header
}

// write answers with the problem, outside huma.
func (p *Problem) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), p.GetHeaders())
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // whoever is gone does not read it
}

// knownProblem is what a code stands for.
type knownProblem struct {
	status int
	detail string
}

// problems are all codes of the API.
var problems = map[string]knownProblem{
	"already_paid":           {409, "The order was paid by another payment: pay this one back. Send the first reference again to see the order."},
	"already_refunded":       {409, "The order was refunded under another reference. Refund nothing again."},
	"forbidden":              {403, "You may not do that."},
	"headers_too_large":      {431, "The header is too large."},
	"idempotency_key_reused": {422, "This Idempotency-Key was used for another request. Use a new key for a new request."},
	"internal":               {500, "Something went wrong on our side. Try again; if it stays, tell the operator."},
	"invalid_json":           {400, "The body is not valid JSON: it must be UTF-8, complete, and must not name a field twice."},
	"invalid_request":        {422, "The request is not as the API expects it. See errors for where."},
	"method_not_allowed":     {405, "This address does not take that method. See the Allow header."},
	"not_found":              {404, "There is nothing at this address. See /docs."},
	"order_cancelled":        {409, "The order was cancelled and its units are for sale again. Pay the money back; to have the goods, buy again."},
	"order_expired":          {409, "The order was not paid in time and its units are for sale again. There is nothing to cancel; to have the goods, buy again."},
	"order_not_found":        {404, "There is no such order."},
	"order_not_paid":         {409, "The order is not paid, so there is nothing to refund. An unpaid order can be cancelled, or expires by itself."},
	"order_paid":             {409, "The order is paid. Ask for a refund instead."},
	"overloaded":             {503, "Too many are buying at this moment; nothing was accepted. Try again in a second."},
	"payment_too_late":       {409, "The time to pay is over and the units are no longer reserved. Pay the money back; to have the goods, buy again."},
	"quantity_over_limit":    {422, "A buyer cannot have that many units of this sale."},
	"rate_limited":           {429, "You ask too much at once. Close what you do not need, or try again in some seconds."},
	"request_not_found":      {404, "There is no such request."},
	"request_timeout":        {408, "The body did not arrive in time."},
	"sale_already_open":      {409, "The sale has opened already; only its end can be moved."},
	"sale_closed":            {409, "The sale is over."},
	"sale_not_found":         {404, "There is no such sale."},
	"sale_not_open":          {409, "The sale has not opened yet."},
	"sale_paused":            {409, "The sale is paused. Try again when it goes on."},
	"stock_not_available":    {409, "Fewer units are free than are to be removed."},
	"body_too_large":         {413, "The body is too large."},
	"sold_out":               {409, "Everything is sold. Units that come back are sold again: it may be worth another try."},
	"unavailable":            {503, "The service cannot answer at this moment. Try again in a second."},
	"unauthorized":           {401, "Say who you are: send a valid token. An old one may have expired."},
	"unsupported_media_type": {415, "Send the body as application/json."},
	"upgrade_required":       {426, "This address speaks WebSocket only."},
	"uri_too_long":           {414, "The address is too long."},
	"user_required":          {422, "Say who it is: userId is missing."},
}

// challenge is what a 401 says about how to say who one is (RFC 6750, 3).
const challenge = `Bearer realm="seckill"`

// retrySeconds and rateLimitedSeconds are what 503 and 429 answers ask a client to
// wait.
const (
	retrySeconds       = 1
	rateLimitedSeconds = 5
)

func problem(code string, errs ...*huma.ErrorDetail) *Problem {
	known := problems[code]
	p := &Problem{
		Title:  http.StatusText(known.status),
		Status: known.status,
		Detail: known.detail,
		Code:   code,
		Errors: errs,
	}
	switch p.Status {
	case http.StatusServiceUnavailable:
		p.retryAfter = retrySeconds
	case http.StatusTooManyRequests:
		p.retryAfter = rateLimitedSeconds
	}
	return p
}

// codeOf is the code for what huma finds wrong by itself.
func codeOf(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "invalid_json"
	case http.StatusRequestTimeout:
		return "request_timeout"
	case http.StatusRequestEntityTooLarge:
		return "body_too_large"
	case http.StatusUnsupportedMediaType:
		return "unsupported_media_type"
	case http.StatusUnprocessableEntity:
		return "invalid_request"
	default:
		return "internal"
	}
}

// humaBrokenBody is what huma says, with status 500, of a body that cannot be read.
const humaBrokenBody = "cannot read request body"

// newHumaError makes huma's own errors problems of ours. It keeps what says
// where the request is at fault, and nothing internal.
func newHumaError(status int, message string, errs ...error) huma.StatusError {
	if message == humaBrokenBody {
		return problem("invalid_json") // the client broke the transfer off, or its framing was wrong
	}
	p := problem(codeOf(status))
	if p.Status >= 500 {
		return p
	}
	for _, err := range errs {
		var at huma.ErrorDetailer
		if errors.As(err, &at) {
			p.Errors = append(p.Errors, at.ErrorDetail())
		}
	}
	if len(p.Errors) == 1 && p.Errors[0].Message == errBadNumber.Error() {
		return problem("invalid_request", p.Errors...) // well-formed, but no number that we could use
	}
	return p
}

// invalidField is the problem of one field, of the body unless it says otherwise.
func invalidField(err *domain.InvalidError) *Problem {
	return problem("invalid_request", &huma.ErrorDetail{Location: "body." + err.Field, Message: err.Detail})
}

// internalProblem logs an error that no client should see, and is what they see.
func (s *Server) internalProblem(ctx context.Context, doing string, err error) *Problem {
	s.logInternal(ctx, doing, err)
	return problem("unavailable")
}

// logInternal logs an error, unless it is only that the client went away.
func (s *Server) logInternal(ctx context.Context, doing string, err error) {
	if ctx.Err() == nil {
		s.logger.ErrorContext(ctx, "could not answer", "doing", doing, "error", err)
	}
}
