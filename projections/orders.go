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
	var rows queries.UpsertOrdersParams
	for _, stream := range streams {
		purchase, ok := FoldPurchase(stream.Events)
		if !ok || !purchase.Decided() {
			continue
		}
		confirmed, ok := stream.Events[1].Data.(domain.PurchaseConfirmed) // version 2 is always the outcome
		if !ok {
			continue
		}
		rows.OrderIds = append(rows.OrderIds, confirmed.OrderID)
		rows.Versions = append(rows.Versions, int32(stream.Version()))
		rows.RequestIds = append(rows.RequestIds, stream.ID)
		rows.SaleIds = append(rows.SaleIds, stream.SaleID)
		rows.UserIds = append(rows.UserIds, purchase.UserID)
		rows.Quantities = append(rows.Quantities, int64(confirmed.Quantity))
		rows.Amounts = append(rows.Amounts, confirmed.Amount)
		rows.Currencies = append(rows.Currencies, confirmed.Currency)
		rows.Statuses = append(rows.Statuses, string(domain.StatusPendingPayment))
		rows.PayBys = append(rows.PayBys, confirmed.PayBy)
		rows.CreatedAts = append(rows.CreatedAts, purchase.DecidedAt)
	}
	if len(rows.OrderIds) == 0 {
		return nil
	}
	return queries.New(writes).UpsertOrders(ctx, rows)
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
	return Order{
		OrderID:   row.Order.OrderID,
		RequestID: row.Order.RequestID,
		SaleID:    row.Order.SaleID,
		GoodsID:   row.GoodsID,
		UserID:    row.Order.UserID,
		Quantity:  int(row.Order.Quantity),
		Amount:    row.Order.Amount,
		Currency:  row.Order.Currency,
		Status:    domain.OrderStatus(row.Order.Status),
		PayBy:     row.Order.PayBy,
		CreatedAt: row.Order.CreatedAt,
		PaidAt:    orZero(row.Order.PaidAt),
		EndedAt:   orZero(row.Order.EndedAt),
	}, nil
}
