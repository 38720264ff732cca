package projections

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/domain"
	"seckill/queries"
)

// Sale is a sale as it stood at a moment of the database's clock. It is read from
// the row that decides, so it is never behind.
type Sale struct {
	domain.Sale

	Revision   int64 // grows with every change: older never overwrites newer
	ServerTime time.Time
}

// GetSale returns a sale. It returns ErrNotFound if there is none of that ID.
func GetSale(ctx context.Context, db queries.DBTX, id int64) (Sale, error) {
	row, err := queries.New(db).GetSale(ctx, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Sale{}, ErrNotFound
	}
	if err != nil {
		return Sale{}, fmt.Errorf("read sale %d: %w", id, err)
	}
	return Sale{Sale: row.Sale.Domain(), Revision: row.Sale.Revision, ServerTime: row.ServerTime}, nil
}

// ListSales returns up to limit sales, newest first, and the cursor for the next
// ones, or 0 at the end. The first call has the cursor 0.
func ListSales(ctx context.Context, db queries.DBTX, cursor int64, limit int) ([]Sale, int64, error) {
	if cursor == 0 {
		cursor = math.MaxInt64
	}
	rows, err := queries.New(db).ListSales(ctx, queries.ListSalesParams{BeforeSaleID: cursor, MaxSales: int32(limit + 1)})
	if err != nil {
		return nil, 0, fmt.Errorf("list sales: %w", err)
	}
	var next int64
	if len(rows) > limit {
		rows = rows[:limit]
		next = rows[limit-1].Sale.SaleID
	}
	sales := make([]Sale, len(rows))
	for i, row := range rows {
		sales[i] = Sale{Sale: row.Sale.Domain(), Revision: row.Sale.Revision, ServerTime: row.ServerTime}
	}
	return sales, next, nil
}

// SaleOfGoods returns the sale that a goods ID means: the one that is on (of
// several, the one that closes first), else the next, else the last. It returns
// ErrNotFound for goods that were never for sale.
func SaleOfGoods(ctx context.Context, db queries.DBTX, goodsID int64) (int64, error) {
	id, err := queries.New(db).GetSaleOfGoods(ctx, goodsID)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, ErrNotFound
	}
	if err != nil {
		return 0, fmt.Errorf("find the sale of goods %d: %w", goodsID, err)
	}
	return id, nil
}
