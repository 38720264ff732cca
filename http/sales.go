package http

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"seckill/domain"
	"seckill/http/auth"
	"seckill/projections"
)

// SaleBody is a sale as every answer shows it.
type SaleBody struct {
	SaleID         int64     `json:"saleId" example:"1001"`
	GoodsID        int64     `json:"goodsId" example:"1001"`
	Name           string    `json:"name" example:"Aurora X1 phone"`
	Price          int64     `json:"price" doc:"Minor units of the currency." example:"199900"`
	Currency       string    `json:"currency" example:"CNY"`
	Stock          int64     `json:"stock" doc:"All units ever added minus removed." example:"300"`
	Available      int64     `json:"available" doc:"Free units." example:"287"`
	PerUserLimit   int       `json:"perUserLimit" example:"1"`
	OpensAt        time.Time `json:"opensAt"`
	ClosesAt       time.Time `json:"closesAt"`
	PaymentTimeout string    `json:"paymentTimeout" doc:"How long a won unit is reserved for payment." example:"15m"`
	Status         string    `json:"status" enum:"scheduled,open,paused,sold_out,closed" example:"open"`
	Revision       int64     `json:"revision" doc:"Grows with every change: older never overwrites newer." example:"14"`
	ServerTime     time.Time `json:"serverTime" doc:"When this was so, by the database's clock."`
}

// Figures are what has become of a sale's purchases so far.
type Figures struct {
	Pending    int64 `json:"pending" doc:"Accepted and not decided yet." example:"12"`
	Confirmed  int64 `json:"confirmed" doc:"Won, whatever became of their orders." example:"13"`
	Paid       int64 `json:"paid" doc:"Paid and not refunded." example:"9"`
	TurnedAway int64 `json:"turnedAway" doc:"Refused at the door." example:"4000"`
}

// SaleWithFigures is a sale as the answer that is about it alone shows it.
type SaleWithFigures struct {
	SaleBody

	Figures Figures `json:"figures" doc:"Purchases so far, about a second behind."`
}

func saleBody(sale projections.Sale) SaleBody {
	return SaleBody{
		SaleID:         sale.ID,
		GoodsID:        sale.GoodsID,
		Name:           sale.Name,
		Price:          sale.Price,
		Currency:       sale.Currency,
		Stock:          sale.Stock,
		Available:      sale.Available,
		PerUserLimit:   sale.PerUserLimit,
		OpensAt:        sale.OpensAt.UTC(),
		ClosesAt:       sale.ClosesAt.UTC(),
		PaymentTimeout: domain.Duration(sale.PaymentTimeout).String(),
		Status:         string(sale.Status(sale.ServerTime)),
		Revision:       sale.Revision,
		ServerTime:     sale.ServerTime.UTC(),
	}
}

// exampleSaleBody illustrates the API's description.
func exampleSaleBody() SaleBody {
	opens := time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
	return saleBody(projections.Sale{
		Sale: domain.Sale{
			ID: 1001, GoodsID: 1001, Name: "Aurora X1 phone", Price: 199_900, Currency: "CNY", Stock: 300, Available: 287, PerUserLimit: 1,
			OpensAt: opens, ClosesAt: opens.Add(time.Hour), PaymentTimeout: 15 * time.Minute,
		},
		Revision:   14,
		ServerTime: opens.Add(1500 * time.Millisecond),
	})
}

type scheduleInput struct {
	Traceparent string `header:"Traceparent" hidden:"true"`
	Body        struct {
		GoodsID        int64  `json:"goodsId,omitempty" minimum:"1" doc:"What is sold; the sale's own number where absent." example:"1001"`
		Name           string `json:"name,omitempty" maxLength:"200" example:"Aurora X1 phone"`
		Price          int64  `json:"price,omitempty" minimum:"0" doc:"Minor units of the currency." example:"199900"`
		Currency       string `json:"currency,omitempty" default:"CNY" pattern:"^[A-Z]{3}$" patternDescription:"an ISO 4217 code" example:"CNY"`
		Stock          int64  `json:"stock" minimum:"1" maximum:"2000000000" example:"300"`
		PerUserLimit   int    `json:"perUserLimit,omitempty" default:"1" minimum:"1" maximum:"1000" example:"1"`
		OpensAt        string `json:"opensAt,omitempty" format:"date-time" doc:"Now where absent."`
		ClosesAt       string `json:"closesAt" format:"date-time" example:"2099-11-11T21:00:00+08:00"`
		PaymentTimeout string `json:"paymentTimeout,omitempty" default:"15m" minLength:"1" doc:"A Go duration, 1s to 720h." example:"15m"`
	}
}

type saleScheduled struct {
	Location string `header:"Location"`
	Body     SaleBody
}

type saleAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Body         SaleWithFigures
}

type saleInput struct {
	SaleID string `path:"saleId" example:"1001"`
}

type salesInput struct {
	Status []string `query:"status,explode" enum:"scheduled,open,paused,sold_out,closed" doc:"Only sales in this status; repeat it for several."`
	Goods  int64    `query:"goodsId" minimum:"1" doc:"Only sales of these goods." example:"1001"`
	Cursor string   `query:"cursor" doc:"The next of the answer before." pattern:"^[0-9]{1,18}$" patternDescription:"a cursor"`
	Limit  int      `query:"limit" default:"20" minimum:"1" maximum:"100"`
}

type salesAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Body         struct {
		Sales []SaleBody `json:"sales" nullable:"false" doc:"Newest first."`
		Next  string     `json:"next,omitempty" doc:"The cursor for more; absent at the end."`
	}
}

func (s *Server) registerSales() {
	huma.Register(s.api, withRoles(withCodes(huma.Operation{
		OperationID:   "schedule-sale",
		Method:        http.MethodPost,
		Path:          "/sales",
		Summary:       "Schedule a sale",
		Description:   "The operator's command.",
		Tags:          []string{"sales"},
		DefaultStatus: http.StatusCreated,
	}, withBody("unavailable")...), auth.Operator), s.scheduleSale)
	huma.Register(s.api, compressed(withCodes(huma.Operation{
		OperationID: "list-sales",
		Method:      http.MethodGet,
		Path:        "/sales",
		Summary:     "The sales",
		Description: "All of them, or those that the filters leave, page by page.",
		Tags:        []string{"sales"},
	}, "invalid_request", "unavailable")), s.listSales)
	huma.Register(s.api, withCodes(huma.Operation{
		OperationID: "get-sale",
		Method:      http.MethodGet,
		Path:        "/sales/{saleId}",
		Summary:     "One sale",
		Tags:        []string{"sales"},
	}, "sale_not_found", "unavailable"), s.getSale)
	s.registerSaleCommands()
}

// plan is the sale that the operator asks for.
func (in *scheduleInput) plan() (domain.SaleScheduled, error) {
	plan := domain.SaleScheduled{
		GoodsID:      in.Body.GoodsID,
		Name:         in.Body.Name,
		Price:        in.Body.Price,
		Currency:     in.Body.Currency,
		Stock:        in.Body.Stock,
		PerUserLimit: in.Body.PerUserLimit,
	}
	timeout, err := time.ParseDuration(in.Body.PaymentTimeout)
	if err != nil {
		return plan, invalidField(&domain.InvalidError{Field: "paymentTimeout", Detail: "must be a duration such as 15m"})
	}
	plan.PaymentTimeout = domain.Duration(timeout)
	if in.Body.OpensAt != "" {
		if plan.OpensAt, err = parseTime("opensAt", in.Body.OpensAt); err != nil {
			return plan, err
		}
	}
	plan.ClosesAt, err = parseTime("closesAt", in.Body.ClosesAt)
	return plan, err
}

func (s *Server) scheduleSale(ctx context.Context, in *scheduleInput) (*saleScheduled, error) {
	plan, err := in.plan()
	if err != nil {
		return nil, err
	}
	id, err := s.Sales.Schedule(ctx, plan, requestMetadata(ctx, "operator", in.Traceparent))
	if invalid, ok := errors.AsType[*domain.InvalidError](err); ok {
		return nil, invalidField(invalid)
	}
	if err != nil {
		return nil, s.internalProblem(ctx, "schedule a sale", err)
	}
	sale, err := projections.GetSale(ctx, s.Read, id)
	if err != nil {
		return nil, s.internalProblem(ctx, "read the new sale", err)
	}
	s.goods.forget(sale.GoodsID)
	return &saleScheduled{Location: "/sales/" + strconv.FormatInt(id, 10), Body: saleBody(sale)}, nil
}

func (s *Server) getSale(ctx context.Context, in *saleInput) (*saleAnswer, error) {
	id, err := parseSaleID(in.SaleID)
	if err != nil {
		return nil, err
	}
	sale, figures, err := projections.GetSaleWithFigures(ctx, s.Read, id)
	if errors.Is(err, projections.ErrNotFound) {
		return nil, problem("sale_not_found")
	}
	if err != nil {
		return nil, s.internalProblem(ctx, "read a sale", err)
	}
	body := SaleWithFigures{SaleBody: saleBody(sale), Figures: Figures(figures)}
	return &saleAnswer{CacheControl: "no-store", Body: body}, nil
}

func (s *Server) listSales(ctx context.Context, in *salesInput) (*salesAnswer, error) {
	var cursor int64
	if in.Cursor != "" {
		cursor, _ = strconv.ParseInt(in.Cursor, 10, 64) // its pattern fits
	}
	filter := projections.SaleFilter{GoodsID: in.Goods}
	for _, status := range in.Status {
		filter.Statuses = append(filter.Statuses, domain.SaleStatus(status))
	}
	sales, next, err := projections.ListSales(ctx, s.Read, filter, cursor, in.Limit)
	if err != nil {
		return nil, s.internalProblem(ctx, "list sales", err)
	}
	answer := &salesAnswer{CacheControl: "no-store"}
	answer.Body.Sales = make([]SaleBody, len(sales))
	for i, sale := range sales {
		answer.Body.Sales[i] = saleBody(sale)
	}
	if next != 0 {
		answer.Body.Next = strconv.FormatInt(next, 10)
	}
	return answer, nil
}

// parseSaleID reads a sale ID in a path. A malformed one is simply not found.
func parseSaleID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, problem("sale_not_found")
	}
	return id, nil
}
