package http

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/eventstore"
)

// HistoryBody is all that happened to a request.
type HistoryBody struct {
	RequestID string             `json:"requestId" example:"01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f"`
	Events    []HistoryEventBody `json:"events" nullable:"false" doc:"Oldest first. Empty for a request that was refused at the door."`
}

// HistoryEventBody is one thing that happened.
type HistoryEventBody struct {
	Type    string    `json:"type" doc:"As in the event history." example:"OrderPaid"`
	At      time.Time `json:"at" doc:"By the database's clock."`
	Version int       `json:"version" doc:"Counts the events of the request from 1." example:"3"`
	Text    string    `json:"text" doc:"For people; follows Accept-Language (zh-CN, en)." example:"The order was paid: reference wx-20261111-000042."`
}

type historyInput struct {
	RequestID      string `path:"requestId" example:"01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f"`
	AcceptLanguage string `header:"Accept-Language" hidden:"true"`
}

type historyAnswer struct {
	CacheControl string `header:"Cache-Control"`
	Vary         string `header:"Vary"`
	Body         HistoryBody
}

func (s *Server) getHistory(ctx context.Context, in *historyInput) (*historyAnswer, error) {
	answer := &historyAnswer{CacheControl: "no-store", Vary: "Accept-Language"}
	if _, ok := s.refused(ctx, in.RequestID); ok {
		answer.Body = historyBody(in.RequestID, nil, english)
		return answer, nil
	}
	id, err := parseRequestID(in.RequestID)
	if err != nil {
		return nil, s.purchaseProblem(ctx, err)
	}
	events, err := s.Purchases.History(ctx, s.Read, id)
	if err != nil {
		return nil, s.purchaseProblem(ctx, err)
	}
	if requested, ok := events[0].Data.(domain.PurchaseRequested); !ok || !sees(ctx, requested.UserID) {
		return nil, problem("request_not_found")
	}
	answer.Body = historyBody(id.String(), events, tongueOf(in.AcceptLanguage))
	return answer, nil
}

func historyBody(requestID string, events []eventstore.Event, t tongue) HistoryBody {
	body := HistoryBody{RequestID: requestID, Events: make([]HistoryEventBody, len(events))}
	for i, event := range events {
		body.Events[i] = HistoryEventBody{
			Type:    event.Data.EventType(),
			At:      event.RecordedAt.UTC(),
			Version: event.Version,
			Text:    t.eventText(event.Data),
		}
	}
	return body
}

// eventText says what an event of a purchase means.
func (t tongue) eventText(event domain.Event) string {
	say := func(chinese, english string, args ...any) string {
		return fmt.Sprintf([2]string{chinese, english}[t], args...)
	}
	switch e := event.(type) {
	case domain.PurchaseRequested:
		return say("用户 %s 抢购 %d 件，请求已受理。", "User %s asked for %d: accepted.", e.UserID, e.Quantity)
	case domain.PurchaseConfirmed:
		return say("抢购成功，订单 %s，%d 件，请于 %s 前付款。", "Won: order %s of %d, to be paid before %s.",
			e.OrderID, e.Quantity, e.PayBy.UTC().Format(time.RFC3339))
	case domain.PurchaseRejected:
		text := say("抢购失败：%s。", "Lost. %s", reasonMessages[e.Reason][t])
		if e.ExistingOrderID != "" {
			text += say("已有订单 %s。", " The buyer has order %s.", e.ExistingOrderID)
		}
		return text
	case domain.OrderPaid:
		return say("订单已付款，支付流水号 %s。", "The order was paid: reference %s.", e.PaymentReference)
	case domain.OrderCancelled:
		return say("买家取消了订单，%d 件重新开售。", "The buyer cancelled the order: %d for sale again.", e.Quantity)
	case domain.OrderExpired:
		return say("订单逾期未付款，%d 件重新开售。", "The order was not paid in time: %d for sale again.", e.Quantity)
	case domain.OrderRefunded:
		if e.Restock {
			return say("订单已退款，退款流水号 %s，%d 件重新开售。", "The order was refunded: reference %s, %d for sale again.", e.PaymentReference, e.Quantity)
		}
		return say("订单已退款，退款流水号 %s，%d 件不再出售。", "The order was refunded: reference %s, %d not for sale again.", e.PaymentReference, e.Quantity)
	default:
		return say("此事件无法解读。", "This event cannot be read.")
	}
}

// exampleHistory illustrates the API's description.
func exampleHistory() HistoryBody {
	order := exampleOrder(domain.StatusPaid)
	at := func(version int, when time.Time, data domain.Event) eventstore.Event {
		return eventstore.Event{StreamID: uuid.MustParse(order.RequestID), Version: version, Data: data, RecordedAt: when}
	}
	return historyBody(order.RequestID, []eventstore.Event{
		at(1, *examplePurchase("").AcceptedAt, domain.PurchaseRequested{UserID: order.UserID, Quantity: order.Quantity}),
		at(2, order.CreatedAt, domain.PurchaseConfirmed{OrderID: order.OrderID, Quantity: order.Quantity, PayBy: order.PayBy}),
		at(3, *order.PaidAt, domain.OrderPaid{PaymentReference: "wx-20261111-000042"}),
	}, english)
}
