package http

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"seckill/domain"
	"seckill/http/auth"
	"seckill/projections"
	"seckill/purchasing"
)

// The /seckill contract: a submit and a poll in an envelope, for clients that were
// written to it. It always speaks Chinese, as those clients expect. They take any
// submit that is not 2xx for "try again", so a refusal at the door is a 200 whose
// request ID resolves to the failure.

// Envelope is every answer of the /seckill contract.
type Envelope struct {
	Code int    `json:"code" doc:"0, or the HTTP status of an error." example:"0"`
	Msg  string `json:"msg" example:"请求已受理，请等待结果"`
	Data any    `json:"data" doc:"The request ID, or the result; null in an error."`
}

// SeckillResult is the data of a result.
type SeckillResult struct {
	Status  string `json:"status" enum:"processing,succeeded,failed" example:"succeeded"`
	Success bool   `json:"success" example:"true"`
	OrderID string `json:"orderId" example:"4KE-APG-W26"`
	Msg     string `json:"msg" doc:"Why it failed; empty when won."`
}

const (
	msgAccepted        = "请求已受理，请等待结果"
	msgBadBody         = "请求内容不是有效的JSON"
	msgBadGoods        = "goodsId 必须是正整数"
	msgBadUser         = "userId 必须是1到64个字符的字符串或数字"
	msgBadWait         = "wait 必须是时长，例如 30s"
	msgBodyTooLarge    = "请求内容过大"
	msgForbidden       = "无权进行此操作"
	msgGoodsNotFound   = "商品不存在"
	msgMediaType       = "请求内容必须是 application/json"
	msgOverloaded      = "当前抢购人数过多，请稍后再试"
	msgRateLimited     = "请求过于频繁，请稍后再试"
	msgRequestNotFound = "请求ID不存在"
	msgUnauthorized    = "请先登录"
	msgUnavailable     = "服务暂时不可用，请稍后再试"
	msgUnknownField    = "请求包含未知字段"
	msgUserRequired    = "userId 不能为空"
)

func (s *Server) registerSeckill(mux *http.ServeMux) {
	mux.HandleFunc("POST /seckill/submit", s.seckillSubmit)
	mux.HandleFunc("GET /seckill/result/{requestId}", s.seckillResult)
	s.documentSeckill()
}

func (s *Server) seckillSubmit(w http.ResponseWriter, r *http.Request) {
	if err := may(r.Context(), auth.Buyer); err != nil {
		s.seckillFailure(r.Context(), err).write(w)
		return
	}
	if p := s.admitSubmit(r.Context(), w.Header()); p != nil {
		s.seckillFailure(r.Context(), p).write(w)
		return
	}
	named, goodsID, failure := readSubmit(w, r)
	if failure != nil {
		failure.write(w)
		return
	}
	userID, err := actor(r.Context(), named)
	if err != nil {
		s.seckillFailure(r.Context(), err).write(w)
		return
	}
	saleID, err := s.goods.sale(r.Context(), goodsID)
	if err == nil {
		var purchase projections.Purchase
		purchase, err = s.submit(r.Context(), purchasing.Request{
			SaleID: saleID, UserID: userID, Quantity: 1, Metadata: requestMetadata(r.Context(), userID, r.Header.Get("Traceparent")),
		})
		if err == nil {
			writeEnvelope(w, http.StatusAccepted, Envelope{Msg: msgAccepted, Data: purchase.RequestID})
			return
		}
	}
	if refused, ok := errors.AsType[*purchasing.RefusedError](err); ok {
		s.seckillRefuse(w, r, refusal{SaleID: saleID, UserID: userID, Reason: refused.Reason, RefusedAt: time.Now().UTC()})
		return
	}
	s.seckillFailure(r.Context(), err).write(w)
}

func (s *Server) seckillRefuse(w http.ResponseWriter, r *http.Request, refused refusal) {
	requestID, err := s.sign(refused)
	if err != nil {
		s.seckillFailure(r.Context(), err).write(w)
		return
	}
	writeEnvelope(w, http.StatusOK, Envelope{Msg: msgAccepted, Data: requestID})
}

func (s *Server) seckillResult(w http.ResponseWriter, r *http.Request) {
	limit, ok := time.Duration(0), true
	if text := r.URL.Query().Get("wait"); text != "" {
		limit, ok = parseDuration(text)
	}
	if !ok {
		seckillError{http.StatusUnprocessableEntity, msgBadWait}.write(w)
		return
	}
	if err := may(r.Context(), auth.Buyer, auth.Operator); err != nil {
		s.seckillFailure(r.Context(), err).write(w)
		return
	}
	if p := s.rateLimits.polls.take(r.Context(), w.Header()); p != nil {
		s.seckillFailure(r.Context(), p).write(w)
		return
	}
	requestID := r.PathValue("requestId")
	purchase, ok := s.refused(r.Context(), requestID)
	if !ok {
		var err error
		purchase, err = s.await(r.Context(), requestID, limit)
		if err != nil {
			s.seckillFailure(r.Context(), err).write(w)
			return
		}
	}
	result := SeckillResult{
		Status:  string(purchase.Status),
		Success: purchase.Status == projections.StatusSucceeded,
		OrderID: purchase.OrderID,
	}
	if !result.Success {
		result.Msg = chinese.message(purchase)
	}
	writeEnvelope(w, http.StatusOK, Envelope{Msg: "ok", Data: result})
}

// readSubmit reads a submit's body. The user is a string or a number, which
// becomes its decimal digits; it may be absent.
func readSubmit(w http.ResponseWriter, r *http.Request) (userID string, goodsID int64, failure *seckillError) {
	if contentType := r.Header.Get("Content-Type"); contentType != "" {
		if mediaType, _, err := mime.ParseMediaType(contentType); err != nil || mediaType != "application/json" {
			return "", 0, &seckillError{http.StatusUnsupportedMediaType, msgMediaType}
		}
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return "", 0, &seckillError{http.StatusRequestEntityTooLarge, msgBodyTooLarge}
	}
	if err != nil || !jsontext.Value(data).IsValid() {
		return "", 0, &seckillError{http.StatusBadRequest, msgBadBody}
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return "", 0, &seckillError{http.StatusUnprocessableEntity, msgBadUser}
	}
	for name := range fields {
		if name != "userId" && name != "goodsId" {
			return "", 0, &seckillError{http.StatusUnprocessableEntity, msgUnknownField}
		}
	}
	if user, present := fields["userId"]; present {
		var ok bool
		if userID, ok = userOf(user); !ok {
			return "", 0, &seckillError{http.StatusUnprocessableEntity, msgBadUser}
		}
	}
	goodsID, err = strconv.ParseInt(string(bytes.TrimSpace(fields["goodsId"])), 10, 64)
	if err != nil || goodsID < 1 {
		return "", 0, &seckillError{http.StatusUnprocessableEntity, msgBadGoods}
	}
	return userID, goodsID, nil
}

func userOf(raw json.RawMessage) (string, bool) {
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		return text, domain.CheckUserID(text) == nil
	}
	if len(raw) > domain.MaxUserIDLength {
		return "", false
	}
	number, ok := new(big.Int).SetString(string(raw), 10)
	if !ok {
		return "", false
	}
	return number.String(), true
}

// seckillFailure is what a client of the contract sees of an error.
func (s *Server) seckillFailure(ctx context.Context, err error) *seckillError {
	switch {
	case errors.Is(err, purchasing.ErrSaleNotFound):
		return &seckillError{http.StatusNotFound, msgGoodsNotFound}
	case errors.Is(err, projections.ErrNotFound):
		return &seckillError{http.StatusNotFound, msgRequestNotFound}
	case errors.Is(err, purchasing.ErrOverloaded):
		return &seckillError{http.StatusServiceUnavailable, msgOverloaded}
	case isProblem(err, "unauthorized"):
		return &seckillError{http.StatusUnauthorized, msgUnauthorized}
	case isProblem(err, "forbidden"):
		return &seckillError{http.StatusForbidden, msgForbidden}
	case isProblem(err, "user_required"):
		return &seckillError{http.StatusUnprocessableEntity, msgUserRequired}
	case isProblem(err, "rate_limited"):
		return &seckillError{http.StatusTooManyRequests, msgRateLimited}
	case isProblem(err, "overloaded"):
		return &seckillError{http.StatusServiceUnavailable, msgOverloaded}
	default:
		s.logInternal(ctx, "serve a seckill request", err)
		return &seckillError{http.StatusServiceUnavailable, msgUnavailable}
	}
}

func isProblem(err error, code string) bool {
	p, ok := errors.AsType[*Problem](err)
	return ok && p.Code == code
}

// seckillError is an error in the contract's envelope.
type seckillError struct {
	status int
	msg    string
}

func (e seckillError) write(w http.ResponseWriter) {
	switch e.status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", challenge)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", strconv.Itoa(retrySeconds))
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", strconv.Itoa(rateLimitedSeconds))
	}
	writeEnvelope(w, e.status, Envelope{Code: e.status, Msg: e.msg})
}

func writeEnvelope(w http.ResponseWriter, status int, envelope Envelope) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = strictJSON.Marshal(w, envelope) // whoever is gone does not read it
}

func (s *Server) documentSeckill() {
	envelope := func(description string, example Envelope) *huma.Response {
		return &huma.Response{
			Description: description,
			Content: map[string]*huma.MediaType{"application/json": {
				Schema: s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Envelope](), true, ""), Example: example,
			}},
		}
	}
	failure := func(status int, msg string) *huma.Response {
		return envelope(http.StatusText(status), Envelope{Code: status, Msg: msg})
	}
	one := 1.0
	s.api.OpenAPI().AddOperation(&huma.Operation{
		OperationID: "seckill-submit",
		Method:      http.MethodPost,
		Path:        "/seckill/submit",
		Summary:     "Submit",
		Description: "Buys one unit of the goods' current sale (else the next, else the last). " +
			"A refusal at the door answers 200 with a request ID that resolves to the failure.",
		Tags:     []string{"seckill"},
		Security: []map[string][]string{{bearerScheme: {string(auth.Buyer)}}},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {
			Schema: &huma.Schema{
				Type:     huma.TypeObject,
				Required: []string{"goodsId"},
				Properties: map[string]*huma.Schema{
					"userId":  {OneOf: []*huma.Schema{{Type: huma.TypeString}, {Type: huma.TypeInteger}}},
					"goodsId": {Type: huma.TypeInteger, Minimum: &one},
				},
				AdditionalProperties: false,
			},
			Example: map[string]any{"userId": 42, "goodsId": 1001},
		}}},
		Responses: map[string]*huma.Response{
			"200": envelope("Refused at the door.", Envelope{Msg: msgAccepted, Data: refusalPrefix + "…"}),
			"202": envelope("Accepted.", Envelope{Msg: msgAccepted, Data: "01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f"}),
			"400": failure(http.StatusBadRequest, msgBadBody),
			"401": failure(http.StatusUnauthorized, msgUnauthorized),
			"403": failure(http.StatusForbidden, msgForbidden),
			"404": failure(http.StatusNotFound, msgGoodsNotFound),
			"413": failure(http.StatusRequestEntityTooLarge, msgBodyTooLarge),
			"415": failure(http.StatusUnsupportedMediaType, msgMediaType),
			"422": failure(http.StatusUnprocessableEntity, msgBadUser),
			"429": failure(http.StatusTooManyRequests, msgRateLimited),
			"503": failure(http.StatusServiceUnavailable, msgOverloaded),
		},
	})
	s.api.OpenAPI().AddOperation(&huma.Operation{
		OperationID: "seckill-result",
		Method:      http.MethodGet,
		Path:        "/seckill/result/{requestId}",
		Summary:     "Result",
		Tags:        []string{"seckill"},
		Security:    []map[string][]string{{bearerScheme: {string(auth.Buyer), string(auth.Operator)}}},
		Parameters: []*huma.Param{
			{
				Name: "requestId", In: "path", Required: true, Description: "What the submit answered.",
				Schema: &huma.Schema{Type: huma.TypeString}, Example: "01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f",
			},
			{Name: "wait", In: "query", Description: "Hold until there is a result, at most 30s.", Schema: &huma.Schema{Type: huma.TypeString}, Example: "30s"},
		},
		Responses: map[string]*huma.Response{
			"200": envelope("The result, or processing.", Envelope{Msg: "ok", Data: SeckillResult{Status: "succeeded", Success: true, OrderID: domain.OrderID(1)}}),
			"401": failure(http.StatusUnauthorized, msgUnauthorized),
			"403": failure(http.StatusForbidden, msgForbidden),
			"404": failure(http.StatusNotFound, msgRequestNotFound),
			"422": failure(http.StatusUnprocessableEntity, msgBadWait),
			"429": failure(http.StatusTooManyRequests, msgRateLimited),
			"503": failure(http.StatusServiceUnavailable, msgUnavailable),
		},
	})
}
