package http

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"seckill/domain"
	"seckill/http/auth"
	"seckill/purchasing"
)

type cancelInput struct {
	OrderID     string `path:"orderId" example:"4KE-APG-W26"`
	Traceparent string `header:"Traceparent" hidden:"true"`
	Body        struct {
		UserID string `json:"userId,omitempty" minLength:"1" maxLength:"64" doc:"Whose order it is. Required in trust mode." example:"42"`
	}
}

type payInput struct {
	OrderID     string `path:"orderId" example:"4KE-APG-W26"`
	Traceparent string `header:"Traceparent" hidden:"true"`
	Body        struct {
		PaymentReference string `json:"paymentReference" minLength:"1" maxLength:"128" doc:"The payment's name at the payment side: printable characters. The same again is the same payment." example:"wx-20261111-000042"`
		Amount           *int64 `json:"amount,omitempty" doc:"What was paid, in minor units. It is compared with the order's amount." example:"199900"`
	}
}

type refundInput struct {
	OrderID     string `path:"orderId" example:"4KE-APG-W26"`
	Traceparent string `header:"Traceparent" hidden:"true"`
	Body        struct {
		PaymentReference string `json:"paymentReference" minLength:"1" maxLength:"128" doc:"The refund's name at the payment side: printable characters. The same again is the same refund." example:"wx-20261111-000042-r"`
		Restock          *bool  `json:"restock,omitempty" default:"true" doc:"Whether the units are for sale again." example:"true"`
	}
}

func (s *Server) registerOrderCommands() {
	huma.Register(s.api, withRoles(orderCommand(huma.Operation{
		OperationID: "cancel-order",
		Path:        "/orders/{orderId}/cancel",
		Summary:     "Give an unpaid order up",
		Description: "The buyer's command. The units are for sale again, and the buyer may buy again. An order that is cancelled stays so: the call can be repeated.",
	}, domain.StatusCancelled, "user_required", "order_paid", "order_expired"), auth.Buyer, auth.Operator), s.cancelOrder)
	huma.Register(s.api, withRoles(orderCommand(huma.Operation{
		OperationID: "pay-order",
		Path:        "/orders/{orderId}/pay",
		Summary:     "Tell that an order is paid",
		Description: "The payment side's command. It counts if it arrives before `payBy`, by the database's clock; a later one is refused, because the units may be somebody else's by then. " +
			"The same payment reference can be sent again.",
	}, domain.StatusPaid, "payment_too_late", "order_cancelled", "already_paid"), auth.Service, auth.Operator), s.payOrder)
	huma.Register(s.api, withRoles(orderCommand(huma.Operation{
		OperationID: "refund-order",
		Path:        "/orders/{orderId}/refund",
		Summary:     "Tell that a paid order was paid back",
		Description: "The payment side's command. With `restock` the units are for sale again; in any case the buyer may buy again. The same reference can be sent again.",
	}, domain.StatusRefunded, "order_not_paid", "already_refunded"), auth.Service, auth.Operator), s.refundOrder)
}

// orderCommand completes the description of a command that answers with the order.
func orderCommand(op huma.Operation, status domain.OrderStatus, codes ...string) huma.Operation {
	op.Method = http.MethodPost
	op.Tags = []string{"orders"}
	op.Responses = map[string]*huma.Response{"200": {
		Description: "The order as it is now.",
		Content:     exampleContent("#/components/schemas/OrderBody", exampleOrder(status)),
	}}
	return withCodes(op, withBody(append(codes, "order_not_found", "unavailable")...)...)
}

func (s *Server) cancelOrder(ctx context.Context, in *cancelInput) (*orderAnswer, error) {
	user, err := actor(ctx, in.Body.UserID, auth.Operator)
	if err != nil {
		return nil, err
	}
	if invalid, ok := errors.AsType[*domain.InvalidError](domain.CheckUserID(user)); ok {
		return nil, invalidField(invalid)
	}
	return s.afterCommand(ctx, in.OrderID, func() error {
		return s.Orders.Cancel(ctx, in.OrderID, user, requestMetadata(ctx, user, in.Traceparent))
	})
}

func (s *Server) payOrder(ctx context.Context, in *payInput) (*orderAnswer, error) {
	return s.afterCommand(ctx, in.OrderID, func() error {
		return s.Orders.Pay(ctx, in.OrderID, in.Body.PaymentReference, in.Body.Amount, requestMetadata(ctx, "payment", in.Traceparent))
	})
}

func (s *Server) refundOrder(ctx context.Context, in *refundInput) (*orderAnswer, error) {
	restock := in.Body.Restock == nil || *in.Body.Restock
	return s.afterCommand(ctx, in.OrderID, func() error {
		return s.Orders.Refund(ctx, in.OrderID, in.Body.PaymentReference, restock, requestMetadata(ctx, "payment", in.Traceparent))
	})
}

// afterCommand carries out a command on an order and answers with the order.
func (s *Server) afterCommand(ctx context.Context, orderID string, command func() error) (*orderAnswer, error) {
	if !domain.IsOrderID(orderID) {
		return nil, problem("order_not_found")
	}
	err := command()
	if errors.Is(err, purchasing.ErrOrderNotFound) {
		return nil, problem("order_not_found")
	}
	if refused, ok := errors.AsType[domain.OrderError](err); ok {
		return nil, problem(string(refused))
	}
	if invalid, ok := errors.AsType[*domain.InvalidError](err); ok {
		return nil, invalidField(invalid)
	}
	if err != nil {
		return nil, s.internalProblem(ctx, "carry out a command on an order", err)
	}
	return s.readOrder(ctx, orderID)
}
