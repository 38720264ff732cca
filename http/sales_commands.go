package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"seckill/domain"
	"seckill/http/auth"
	"seckill/purchasing"
)

// NoBody is the body of a command that says everything by its address.
type NoBody struct{}

type saleCommandInput struct {
	SaleID      string  `path:"saleId" example:"1001"`
	Traceparent string  `header:"Traceparent" hidden:"true"`
	Body        *NoBody // may be absent
}

type stockInput struct {
	SaleID      string `path:"saleId" example:"1001"`
	Traceparent string `header:"Traceparent" hidden:"true"`
	Body        struct {
		Delta int64 `json:"delta" doc:"Units to add, or with a minus to remove; not 0." example:"-20"`
	}
}

type rescheduleInput struct {
	SaleID      string `path:"saleId" example:"1001"`
	Traceparent string `header:"Traceparent" hidden:"true"`
	Body        struct {
		OpensAt  string `json:"opensAt,omitempty" format:"date-time" doc:"Only before the sale has opened. A time that has passed opens it at once."`
		ClosesAt string `json:"closesAt,omitempty" format:"date-time" doc:"In the future and after opensAt." example:"2099-11-11T22:00:00+08:00"`
	}
}

func (s *Server) registerSaleCommands() {
	huma.Register(s.api, withRoles(withCodes(huma.Operation{
		OperationID: "reschedule-sale",
		Method:      http.MethodPatch,
		Path:        "/sales/{saleId}",
		Summary:     "Move a sale's window",
		Description: "The operator's command. Moves what the body names. A request is judged by the window at the moment at which it was accepted.",
		Tags:        []string{"sales"},
		Responses:   exampleSale("The sale with its new window."),
	}, withBody("sale_not_found", "sale_closed", "sale_already_open", "unavailable")...), auth.Operator), s.rescheduleSale)
	huma.Register(s.api, withRoles(withCodes(huma.Operation{
		OperationID: "change-stock",
		Method:      http.MethodPost,
		Path:        "/sales/{saleId}/stock",
		Summary:     "Add or remove units",
		Description: "The operator's command. Only free units can be removed: nothing is taken from a buyer. It is not idempotent: " +
			"after a 503 read the sale before you repeat it.",
		Tags:      []string{"sales"},
		Responses: exampleSale("The sale with its new stock."),
	}, withBody("sale_not_found", "sale_closed", "stock_not_available", "unavailable")...), auth.Operator), s.changeStock)
	for _, command := range []struct {
		name, summary, description string
		codes                      []string
		do                         saleCommand
	}{
		{
			name:    "pause",
			summary: "Pause a sale",
			description: "Requests accepted from now on are refused with `sale_paused`, within about a second at the door already. " +
				"Those accepted before are decided as usual. To pause a paused sale changes nothing.",
			codes: []string{"sale_closed"},
			do:    s.Sales.Pause,
		}, {
			name:        "resume",
			summary:     "Let a paused sale go on",
			description: "Requests accepted from now on are decided again. To resume a sale that is not paused changes nothing.",
			codes:       []string{"sale_closed"},
			do:          s.Sales.Resume,
		}, {
			name:    "close",
			summary: "Close a sale for good",
			description: "Requests accepted from now on are refused with `sale_closed`, within about a second at the door already. " +
				"Those accepted before are decided as usual. To close a closed sale changes nothing.",
			do: s.Sales.Close,
		},
	} {
		huma.Register(s.api, withRoles(withCodes(huma.Operation{
			OperationID: command.name + "-sale",
			Method:      http.MethodPost,
			Path:        "/sales/{saleId}/" + command.name,
			Summary:     command.summary,
			Description: "The operator's command. " + command.description,
			Tags:        []string{"sales"},
			Responses:   exampleSale("The sale after it."),
		}, withBody(append(command.codes, "sale_not_found", "unavailable")...)...), auth.Operator), s.saleCommand(command.name, command.do))
	}
}

func exampleSale(description string) map[string]*huma.Response {
	return map[string]*huma.Response{"200": {
		Description: description,
		Content:     exampleContent("#/components/schemas/SaleWithFigures", SaleWithFigures{SaleBody: exampleSaleBody(), Figures: Figures{Pending: 2, Confirmed: 13, Paid: 9}}),
	}}
}

// saleCommand is a command that needs nothing but the sale.
type saleCommand func(ctx context.Context, saleID int64, metadata []byte) error

func (s *Server) saleCommand(name string, do saleCommand) func(context.Context, *saleCommandInput) (*saleAnswer, error) {
	return func(ctx context.Context, in *saleCommandInput) (*saleAnswer, error) {
		return s.command(ctx, name, in.SaleID, func(id int64) error {
			return do(ctx, id, requestMetadata(ctx, "operator", in.Traceparent))
		})
	}
}

func (s *Server) changeStock(ctx context.Context, in *stockInput) (*saleAnswer, error) {
	return s.command(ctx, "change the stock of", in.SaleID, func(id int64) error {
		return s.Sales.ChangeStock(ctx, id, in.Body.Delta, requestMetadata(ctx, "operator", in.Traceparent))
	})
}

func (s *Server) rescheduleSale(ctx context.Context, in *rescheduleInput) (*saleAnswer, error) {
	if in.Body.OpensAt == "" && in.Body.ClosesAt == "" {
		return nil, problem("invalid_request", &huma.ErrorDetail{Location: "body", Message: "must name opensAt or closesAt"})
	}
	opensAt, err := parseOptionalTime("opensAt", in.Body.OpensAt)
	if err != nil {
		return nil, err
	}
	closesAt, err := parseOptionalTime("closesAt", in.Body.ClosesAt)
	if err != nil {
		return nil, err
	}
	return s.command(ctx, "reschedule", in.SaleID, func(id int64) error {
		return s.Sales.Reschedule(ctx, id, opensAt, closesAt, requestMetadata(ctx, "operator", in.Traceparent))
	})
}

// parseOptionalTime is parseTime of a field that may be absent: then it is nil.
func parseOptionalTime(field, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	t, err := parseTime(field, text)
	return &t, err
}

// command carries out a command on a sale and answers with the sale after it.
func (s *Server) command(ctx context.Context, doing, saleID string, do func(id int64) error) (*saleAnswer, error) {
	id, err := parseSaleID(saleID)
	if err != nil {
		return nil, err
	}
	if err := do(id); err != nil {
		return nil, s.commandProblem(ctx, doing+" a sale", err)
	}
	answer, err := s.getSale(ctx, &saleInput{SaleID: saleID})
	if err == nil {
		s.goods.forget(answer.Body.GoodsID) // they may mean another sale now
	}
	return answer, err
}

// commandProblem is what an operator sees of a command that was not carried out.
func (s *Server) commandProblem(ctx context.Context, doing string, err error) *Problem {
	var (
		invalid *domain.InvalidError
		stock   *domain.StockNotAvailableError
	)
	switch {
	case errors.Is(err, purchasing.ErrSaleNotFound):
		return problem("sale_not_found")
	case errors.Is(err, domain.ErrSaleClosed):
		return problem("sale_closed")
	case errors.Is(err, domain.ErrSaleAlreadyOpen):
		return problem("sale_already_open")
	case errors.As(err, &stock):
		p := problem("stock_not_available")
		p.Detail = fmt.Sprintf("Fewer units are free than are to be removed: %d.", stock.Available)
		return p
	case errors.As(err, &invalid):
		return invalidField(invalid)
	default:
		return s.internalProblem(ctx, doing, err)
	}
}
