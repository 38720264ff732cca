package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/queries"
)

// Order is a confirmed purchase as its buyer sees it.
type Order struct {
	OrderID   string
	RequestID uuid.UUID
	SaleID    int64
	GoodsID   int64
	UserID    string
	Quantity  int
	Amount    int64 // minor units of Currency
	Currency  string
	Status    domain.OrderStatus
	PayBy     time.Time
	CreatedAt time.Time
	PaidAt    time.Time // zero unless paid
	EndedAt   time.Time // zero unless ended
}

// Orders keeps the table orders: a row for each confirmed purchase.
type Orders struct{}

// Project implements eventstore.Projection.
func (Orders) Project(ctx context.Context, writes *queries.Pipeline, streams []*eventstore.Stream) error {
	rows := orderRows(streams)
	if len(rows.OrderIds) == 0 {
		return nil
	}
	return queries.New(writes).UpsertOrders(ctx, rows)
}

// orderRows are the rows of those of the streams that are confirmed purchases: live
// and when they are rebuilt.
func orderRows(streams []*eventstore.Stream) (rows queries.UpsertOrdersParams) {
	for _, stream := range streams {
		order, ok := foldOrder(stream.Events)
		if !ok {
			continue
		}
		rows.OrderIds = append(rows.OrderIds, order.OrderID)
		rows.Versions = append(rows.Versions, int32(stream.Version()))
		rows.RequestIds = append(rows.RequestIds, order.RequestID)
		rows.SaleIds = append(rows.SaleIds, order.SaleID)
		rows.UserIds = append(rows.UserIds, order.UserID)
		rows.Quantities = append(rows.Quantities, int64(order.Quantity))
		rows.Amounts = append(rows.Amounts, order.Amount)
		rows.Currencies = append(rows.Currencies, order.Currency)
		rows.Statuses = append(rows.Statuses, string(order.Status))
		rows.PayBys = append(rows.PayBys, order.PayBy)
		rows.CreatedAts = append(rows.CreatedAts, order.CreatedAt)
		rows.PaidAts = append(rows.PaidAts, orEpoch(order.PaidAt))
		rows.EndedAts = append(rows.EndedAts, orEpoch(order.EndedAt))
	}
	return rows
}

// foldOrder folds the events of a purchase's stream, from the first on, into all of
// an order but its goods. It returns false for a purchase that was not confirmed.
func foldOrder(events []eventstore.Event) (Order, bool) {
	purchase, ok := FoldPurchase(events)
	if !ok || purchase.Status != StatusSucceeded {
		return Order{}, false
	}
	order := Order{
		OrderID:   purchase.OrderID,
		RequestID: purchase.RequestID,
		SaleID:    purchase.SaleID,
		UserID:    purchase.UserID,
		PayBy:     purchase.PayBy,
		CreatedAt: purchase.DecidedAt,
	}
	var state domain.Order
	for _, event := range events {
		switch data := event.Data.(type) {
		case domain.PurchaseConfirmed:
			state = domain.NewOrder(data)
			order.Quantity, order.Amount, order.Currency = data.Quantity, data.Amount, data.Currency
		case domain.OrderPaid:
			order.PaidAt = event.RecordedAt
		case domain.OrderCancelled, domain.OrderExpired, domain.OrderRefunded:
			order.EndedAt = event.RecordedAt
		}
		state.Apply(event.Data)
	}
	order.Status = state.Status
	return order, true
}

// GetOrder returns an order. It returns ErrNotFound if there is none of that ID.
func GetOrder(ctx context.Context, db queries.DBTX, orderID string) (Order, error) {
	row, err := queries.New(db).GetOrder(ctx, orderID)
	if errors.Is(err, pgx.ErrNoRows) {
		return Order{}, ErrNotFound
	}
	if err != nil {
		return Order{}, fmt.Errorf("read order: %w", err)
	}
	return orderOf(row.Order, row.GoodsID), nil
}

// OrdersCursor is a place in a list of orders: after that order. The zero cursor is
// the beginning.
type OrdersCursor struct {
	CreatedAt time.Time `json:"c"`
	OrderID   string    `json:"o"`
}

// ListOrders returns up to limit orders of a user, newest first, and the cursor for
// the next ones, which is zero at the end.
func ListOrders(ctx context.Context, db queries.DBTX, userID string, after OrdersCursor, limit int) ([]Order, OrdersCursor, error) {
	if after == (OrdersCursor{}) {
		after.CreatedAt = endOfTime
	}
	rows, err := queries.New(db).ListOrders(ctx, queries.ListOrdersParams{
		UserID:          userID,
		BeforeCreatedAt: after.CreatedAt,
		BeforeOrderID:   after.OrderID,
		MaxOrders:       int32(limit + 1),
	})
	if err != nil {
		return nil, OrdersCursor{}, fmt.Errorf("list orders: %w", err)
	}
	var next OrdersCursor
	if len(rows) > limit {
		rows = rows[:limit]
		next = OrdersCursor{CreatedAt: rows[limit-1].Order.CreatedAt, OrderID: rows[limit-1].Order.OrderID}
	}
	orders := make([]Order, len(rows))
	for i, row := range rows {
		orders[i] = orderOf(row.Order, row.GoodsID)
	}
	return orders, next, nil
}

// endOfTime is later than whatever happens.
var endOfTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

func orderOf(row queries.Order, goodsID int64) Order {
	return Order{
		OrderID:   row.OrderID,
		RequestID: row.RequestID,
		SaleID:    row.SaleID,
		GoodsID:   goodsID,
		UserID:    row.UserID,
		Quantity:  int(row.Quantity),
		Amount:    row.Amount,
		Currency:  row.Currency,
		Status:    domain.OrderStatus(row.Status),
		PayBy:     row.PayBy,
		CreatedAt: row.CreatedAt,
		PaidAt:    orZero(row.PaidAt),
		EndedAt:   orZero(row.EndedAt),
	}
}
