package domain_test

import (
	"time"

	"seckill/domain"
)

// The sale that most tests buy from: its window is one hour.
var (
	opensAt  = time.Date(2026, 11, 11, 0, 0, 0, 123456000, time.UTC)
	closesAt = opensAt.Add(time.Hour)
	during   = opensAt.Add(time.Minute)
)

// saleOf is a sale of which so many units are free, with so many for each buyer.
func saleOf(available int64, perUserLimit int) domain.Sale {
	return domain.Sale{
		ID:             1001,
		GoodsID:        2002,
		Name:           "Aurora X1 phone",
		Price:          199_900,
		Currency:       "CNY",
		Stock:          available,
		Available:      available,
		PerUserLimit:   perUserLimit,
		OpensAt:        opensAt,
		ClosesAt:       closesAt,
		PaymentTimeout: 15 * time.Minute,
	}
}
