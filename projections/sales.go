package projections

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
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
	return fromRow(row), nil
}

// Figures are what has become of a sale's purchases so far. They follow the log and
// are a moment behind.
type Figures struct {
	Pending    int64 // accepted and not decided yet
	Confirmed  int64 // that won, whatever became of their orders
	Paid       int64 // and not refunded
	TurnedAway int64 // refused at the door
}

// GetSaleWithFigures returns a sale and its figures. It returns ErrNotFound if there
// is none of that ID.
func GetSaleWithFigures(ctx context.Context, db queries.DBTX, id int64) (Sale, Figures, error) {
	row, err := queries.New(db).GetSaleWithFigures(ctx, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Sale{}, Figures{}, ErrNotFound
	}
	if err != nil {
		return Sale{}, Figures{}, fmt.Errorf("read sale %d: %w", id, err)
	}
	figures := Figures{Pending: row.Pending, Confirmed: row.Confirmed, Paid: row.Paid, TurnedAway: row.TurnedAway}
	return fromRow(queries.GetSaleRow{Sale: row.Sale, ServerTime: row.ServerTime}), figures, nil
}

// GetSales returns those of the sales that exist, by one query.
func GetSales(ctx context.Context, db queries.DBTX, ids []int64) ([]Sale, error) {
	rows, err := queries.New(db).GetSales(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d sales: %w", len(ids), err)
	}
	return fromRows(rows), nil
}

// SaleFilter says which sales to list; the zero filter is all of them.
type SaleFilter struct {
	GoodsID  int64               // 0 for any
	Statuses []domain.SaleStatus // none for any
}

// ListSales returns up to limit sales, newest first, and the cursor for the next
// ones, or 0 at the end. The first call has the cursor 0.
func ListSales(ctx context.Context, db queries.DBTX, filter SaleFilter, cursor int64, limit int) ([]Sale, int64, error) {
	if cursor == 0 {
		cursor = math.MaxInt64
	}
	sales, err := listSales(ctx, queries.New(db), filter, cursor, int32(limit+1))
	if err != nil {
		return nil, 0, fmt.Errorf("list sales: %w", err)
	}
	if len(sales) <= limit {
		return sales, 0, nil
	}
	return sales[:limit], sales[limit-1].ID, nil
}

func listSales(ctx context.Context, q *queries.Queries, filter SaleFilter, before int64, limit int32) ([]Sale, error) {
	statuses := make([]string, len(filter.Statuses))
	for i, status := range filter.Statuses {
		statuses[i] = string(status)
	}
	switch {
	case filter.GoodsID != 0:
		rows, err := q.ListSalesOfGoods(ctx, queries.ListSalesOfGoodsParams{
			GoodsID: filter.GoodsID, BeforeSaleID: before, Statuses: statuses, MaxSales: limit,
		})
		return fromRows(rows), err
	case len(statuses) > 0 && !slices.Contains(filter.Statuses, domain.SaleStatusClosed):
		rows, err := q.ListUnfinishedSales(ctx, queries.ListUnfinishedSalesParams{
			BeforeSaleID: before, Statuses: statuses, MaxSales: limit,
		})
		return fromRows(rows), err
	default:
		rows, err := q.ListSales(ctx, queries.ListSalesParams{BeforeSaleID: before, Statuses: statuses, MaxSales: limit})
		return fromRows(rows), err
	}
}

// saleRow is the form of every row that shows a sale.
type saleRow interface {
	~struct {
		Sale       queries.Sale
		ServerTime time.Time
	}
}

func fromRow[Row saleRow](row Row) Sale {
	r := queries.GetSaleRow(row)
	return Sale{Sale: r.Sale.Domain(), Revision: r.Sale.Revision, ServerTime: r.ServerTime}
}

func fromRows[Row saleRow](rows []Row) []Sale {
	sales := make([]Sale, len(rows))
	for i, row := range rows {
		sales[i] = fromRow(row)
	}
	return sales
}

// SaleOfGoods returns the sale that a goods ID means: the one that is on, paused or
// not (of several, the one that closes first), else the next, else the last. It returns
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
