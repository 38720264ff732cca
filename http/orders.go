package http

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"seckill/domain"
	"seckill/http/auth"
	"seckill/projections"
)

// OrderBody is an order as every answer shows it. What does not apply is absent.
type OrderBody struct {
	OrderID   string     `json:"orderId" example:"4KE-APG-W26"`
	RequestID string     `json:"requestId" example:"01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f"`
	SaleID    int64      `json:"saleId" example:"1001"`
	GoodsID   int64      `json:"goodsId" example:"1001"`
	UserID    string     `json:"userId" example:"42"`
	Quantity  int        `json:"quantity" example:"1"`
	Amount    int64      `json:"amount" doc:"Price × quantity, in minor units." example:"199900"`
	Currency  string     `json:"currency" example:"CNY"`
	Status    string     `json:"status" enum:"pending_payment,paid,cancelled,expired,refunded" example:"pending_payment"`
	PayBy     time.Time  `json:"payBy" doc:"A payment must come before this, by the database's clock."`
	CreatedAt time.Time  `json:"createdAt"`
	PaidAt    *time.Time `json:"paidAt,omitempty" doc:"Stays when it is refunded."`
	EndedAt   *time.Time `json:"endedAt,omitempty" doc:"When it was cancelled, expired or refunded."`
}

func orderBody(order projections.Order) OrderBody {
	return OrderBody{
		OrderID:   order.OrderID,
		RequestID: order.RequestID.String(),
		SaleID:    order.SaleID,
		GoodsID:   order.GoodsID,
		UserID:    order.UserID,
		Quantity:  order.Quantity,
		Amount:    order.Amount,
		Currency:  order.Currency,
		Status:    string(order.Status),
		PayBy:     order.PayBy.UTC(),
		CreatedAt: order.CreatedAt.UTC(),
		PaidAt:    utcOrNil(order.PaidAt),
		EndedAt:   utcOrNil(order.EndedAt),
	}
}

// exampleOrder illustrates the API's description.
func exampleOrder(status domain.OrderStatus) OrderBody {
	created := time.Date(2026, 11, 11, 0, 0, 0, 130456000, time.UTC)
	order := projections.Order{
		OrderID:   domain.OrderID(1),
		RequestID: uuid.MustParse("01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f"),
		SaleID:    1001,
		GoodsID:   1001,
		UserID:    "42",
		Quantity:  1,
		Amount:    199_900,
		Currency:  "CNY",
		Status:    status,
		PayBy:     created.Add(15 * time.Minute),
		CreatedAt: created,
	}
	if status == domain.StatusPaid || status == domain.StatusRefunded {
		order.PaidAt = created.Add(4 * time.Minute)
	}
	if status == domain.StatusCancelled || status == domain.StatusRefunded {
		order.EndedAt = created.Add(9 * time.Minute)
	}
	return orderBody(order)
}

type orderInput struct {
	OrderID string `path:"orderId" example:"4KE-APG-W26"`
}

type orderAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Body         OrderBody
}

type ordersInput struct {
	UserID string `query:"userId" doc:"Whose orders. Required in trust mode." example:"42"`
	Cursor string `query:"cursor" doc:"The next of the answer before."`
	Limit  int    `query:"limit" default:"20" minimum:"1" maximum:"100"`
}

type ordersBody struct {
	Orders []OrderBody `json:"orders" nullable:"false" doc:"Newest first."`
	Next   string      `json:"next,omitempty" doc:"The cursor for more; absent at the end."`
}

type ordersAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Body         ordersBody
}

func (s *Server) registerOrders() {
	huma.Register(s.api, withRoles(withCodes(huma.Operation{
		OperationID: "list-orders",
		Method:      http.MethodGet,
		Path:        "/orders",
		Summary:     "A buyer's orders",
		Tags:        []string{"orders"},
		Responses: map[string]*huma.Response{"200": {
			Description: "The orders.",
			Content: exampleContent("#/components/schemas/OrdersBody", ordersBody{
				Orders: []OrderBody{exampleOrder(domain.StatusPendingPayment), exampleOrder(domain.StatusPaid)},
			}),
		}},
	}, "user_required", "invalid_request", "unavailable"), auth.Buyer, auth.Operator), s.listOrders)
	huma.Register(s.api, withRoles(withCodes(huma.Operation{
		OperationID: "get-order",
		Method:      http.MethodGet,
		Path:        "/orders/{orderId}",
		Summary:     "One order",
		Tags:        []string{"orders"},
		Responses: map[string]*huma.Response{"200": {
			Description: "The order.",
			Content:     exampleContent("#/components/schemas/OrderBody", exampleOrder(domain.StatusPendingPayment)),
		}},
	}, "order_not_found", "unavailable"), auth.Buyer, auth.Operator), s.getOrder)
}

func (s *Server) listOrders(ctx context.Context, in *ordersInput) (*ordersAnswer, error) {
	user, err := queriedUser(ctx, in.UserID)
	if err != nil {
		return nil, err
	}
	list := "orders of " + user
	var after projections.OrdersCursor
	if err := s.readCursor(list, in.Cursor, &after); err != nil {
		return nil, err
	}
	orders, next, err := projections.ListOrders(ctx, s.Read, user, after, in.Limit)
	if err != nil {
		return nil, s.internalProblem(ctx, "list orders", err)
	}
	answer := &ordersAnswer{CacheControl: "no-store"}
	answer.Body.Orders = make([]OrderBody, len(orders))
	for i, order := range orders {
		answer.Body.Orders[i] = orderBody(order)
	}
	if next != (projections.OrdersCursor{}) {
		answer.Body.Next = s.signCursor(list, next)
	}
	return answer, nil
}

func (s *Server) getOrder(ctx context.Context, in *orderInput) (*orderAnswer, error) {
	answer, err := s.readOrder(ctx, in.OrderID)
	if err == nil && !sees(ctx, answer.Body.UserID) {
		return nil, problem("order_not_found")
	}
	return answer, err
}

// readOrder reads an order, whoever asks.
func (s *Server) readOrder(ctx context.Context, orderID string) (*orderAnswer, error) {
	if !domain.IsOrderID(orderID) {
		return nil, problem("order_not_found")
	}
	order, err := projections.GetOrder(ctx, s.Read, orderID)
	if errors.Is(err, projections.ErrNotFound) {
		return nil, problem("order_not_found")
	}
	if err != nil {
		return nil, s.internalProblem(ctx, "read an order", err)
	}
	return &orderAnswer{CacheControl: "no-store", Body: orderBody(order)}, nil
}
