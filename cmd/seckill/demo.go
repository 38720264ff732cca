package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/domain"
	"seckill/projections"
)

const (
	demoGoodsID = 1001
	demoStock   = 300
	demoLasts   = 7 * 24 * time.Hour
)

// demoSale is the sale to try things out on; zero for none.
type demoSale struct{ saleID, goodsID int64 }

// ensureDemoSale returns the demo sale, and creates one if none is on or coming.
func ensureDemoSale(ctx context.Context, n *node) (demoSale, error) {
	id, err := projections.SaleOfGoods(ctx, n.pools.Read, demoGoodsID)
	if err != nil && !errors.Is(err, projections.ErrNotFound) {
		return demoSale{}, err
	}
	if err == nil {
		sale, err := projections.GetSale(ctx, n.pools.Read, id)
		if err != nil {
			return demoSale{}, err
		}
		if status := sale.Status(sale.ServerTime); status == domain.SaleStatusOpen || status == domain.SaleStatusScheduled {
			return demoSale{saleID: id, goodsID: demoGoodsID}, nil
		}
	}
	id, err = n.sales.Schedule(ctx, domain.SaleScheduled{
		GoodsID:        demoGoodsID,
		Name:           "极光 X1 手机 · Aurora X1 phone",
		Price:          199900,
		Currency:       "CNY",
		Stock:          demoStock,
		PerUserLimit:   1,
		ClosesAt:       time.Now().Add(demoLasts),
		PaymentTimeout: domain.Duration(15 * time.Minute),
	}, []byte(`{"actor":"demo"}`))
	if err != nil {
		return demoSale{}, fmt.Errorf("create the demo sale: %w", err)
	}
	return demoSale{saleID: id, goodsID: demoGoodsID}, nil
}
