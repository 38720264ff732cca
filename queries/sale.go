package queries

import (
	"time"

	"seckill/domain"
)

// Domain is the sale that the row stores.
func (s Sale) Domain() domain.Sale {
	return domain.Sale{
		ID:             s.SaleID,
		GoodsID:        s.GoodsID,
		Name:           s.Name,
		Price:          s.Price,
		Currency:       s.Currency,
		Stock:          s.Stock,
		Available:      s.Available,
		PerUserLimit:   int(s.PerUserLimit),
		OpensAt:        s.OpensAt,
		ClosesAt:       s.ClosesAt,
		PaymentTimeout: time.Duration(s.PaymentTimeoutUs) * time.Microsecond,
	}
}
