package http

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"seckill/domain"
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
	PayBy     time.Time  `json:"payBy"`
	CreatedAt time.Time  `json:"createdAt"`
	PaidAt    *time.Time `json:"paidAt,omitempty"`
	EndedAt   *time.Time `json:"endedAt,omitempty"`
}

type orderInput struct {
	OrderID string `path:"orderId" example:"4KE-APG-W26"`
}

type orderAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Body         OrderBody
}

func (s *Server) registerOrders() {
	huma.Register(s.api, withCodes(huma.Operation{
		OperationID: "get-order",
		Method:      http.MethodGet,
		Path:        "/orders/{orderId}",
		Summary:     "One order",
		Tags:        []string{"orders"},
	}, "order_not_found", "unavailable"), s.getOrder)
}

func (s *Server) getOrder(ctx context.Context, in *orderInput) (*orderAnswer, error) {
	if !domain.IsOrderID(in.OrderID) {
		return nil, problem("order_not_found")
	}
	order, err := projections.GetOrder(ctx, s.Read, in.OrderID)
	if errors.Is(err, projections.ErrNotFound) {
		return nil, problem("order_not_found")
	}
	if err != nil {
		return nil, s.internalProblem(ctx, "read an order", err)
	}
	return &orderAnswer{CacheControl: "no-store", Body: OrderBody{
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
	}}, nil
}
