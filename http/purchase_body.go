package http

import (
	"time"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/projections"
)

// PurchaseBody is a purchase as every answer and every push shows it. What does
// not apply is absent.
type PurchaseBody struct {
	RequestID         string     `json:"requestId" example:"01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f"`
	SaleID            int64      `json:"saleId" example:"1001"`
	UserID            string     `json:"userId" example:"42"`
	Quantity          int        `json:"quantity" example:"1"`
	Status            string     `json:"status" enum:"processing,succeeded,failed" example:"succeeded"`
	Success           *bool      `json:"success,omitempty" doc:"Absent while processing." example:"true"`
	Reason            string     `json:"reason,omitempty" enum:"sold_out,limit_exceeded,sale_not_open,sale_paused,sale_closed,internal" doc:"Why it failed."`
	Message           string     `json:"message" doc:"For people; follows Accept-Language (zh-CN, en)." example:"You got it. Please pay in time."`
	OrderID           string     `json:"orderId,omitempty" example:"4KE-APG-W26"`
	ExistingRequestID string     `json:"existingRequestId,omitempty" doc:"With limit_exceeded: the request that the buyer won before."`
	ExistingOrderID   string     `json:"existingOrderId,omitempty" doc:"With limit_exceeded: the order that the buyer has."`
	PayBy             *time.Time `json:"payBy,omitempty" doc:"Until when the units are reserved."`
	AcceptedAt        *time.Time `json:"acceptedAt,omitempty" doc:"When the request became durable, by the database's clock."`
	DecidedAt         *time.Time `json:"decidedAt,omitempty"`
	Links             Links      `json:"links"`
}

// Links say where to ask on, relative to the service.
type Links struct {
	Self   string `json:"self" example:"/purchases/01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f"`
	Events string `json:"events" doc:"Server-sent events." example:"/purchases/01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f/events"`
	WS     string `json:"ws" doc:"WebSocket." example:"/purchases/01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f/ws"`
}

func linksOf(requestID string) Links {
	self := "/purchases/" + requestID
	return Links{Self: self, Events: self + "/events", WS: self + "/ws"}
}

// examplePurchase illustrates the API's description.
func examplePurchase(status projections.Status) PurchaseBody {
	accepted := time.Date(2026, 11, 11, 0, 0, 0, 123456000, time.UTC)
	p := projections.Purchase{
		RequestID:  uuid.MustParse("01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f"),
		SaleID:     1001,
		UserID:     "42",
		Quantity:   1,
		Status:     status,
		AcceptedAt: accepted,
	}
	switch status {
	case projections.StatusSucceeded:
		p.OrderID = domain.OrderID(1)
		p.DecidedAt = accepted.Add(7 * time.Millisecond)
		p.PayBy = accepted.Add(15 * time.Minute)
	case projections.StatusFailed:
		p.Reason = domain.ReasonSoldOut
		p.DecidedAt = accepted.Add(7 * time.Millisecond)
	}
	return bodyOf(p, english)
}

func bodyOf(p projections.Purchase, t tongue) PurchaseBody {
	body := PurchaseBody{
		RequestID:       p.RequestID.String(),
		SaleID:          p.SaleID,
		UserID:          p.UserID,
		Quantity:        p.Quantity,
		Status:          string(p.Status),
		Reason:          string(p.Reason),
		Message:         t.message(p),
		OrderID:         p.OrderID,
		ExistingOrderID: p.ExistingOrderID,
		PayBy:           utcOrNil(p.PayBy),
		AcceptedAt:      utcOrNil(p.AcceptedAt),
		DecidedAt:       utcOrNil(p.DecidedAt),
	}
	if p.Decided() {
		success := p.Status == projections.StatusSucceeded
		body.Success = &success
	}
	if p.ExistingRequestID != uuid.Nil {
		body.ExistingRequestID = p.ExistingRequestID.String()
	}
	body.Links = linksOf(body.RequestID)
	return body
}

func utcOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
