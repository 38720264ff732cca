package queries

import (
	"time"

	"seckill/domain"
)

// Domain is the sale that the row stores.
func (s Sale) Domain() domain.Sale {
	sale := domain.Sale{
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
	if s.ClosedAt != nil {
		sale.ClosedAt = *s.ClosedAt
	}
	for i, from := range s.PausedAt {
		pause := domain.Pause{From: from}
		if i < len(s.ResumedAt) {
			pause.Until = s.ResumedAt[i]
		}
		sale.Pauses = append(sale.Pauses, pause)
	}
	return sale
}

// SaleUpdate is what UpdateSale writes of a sale that a command has changed.
func SaleUpdate(sale domain.Sale) UpdateSaleParams {
	update := UpdateSaleParams{
		SaleID:    sale.ID,
		Stock:     sale.Stock,
		Available: sale.Available,
		OpensAt:   sale.OpensAt,
		ClosesAt:  sale.ClosesAt,
		PausedAt:  make([]time.Time, 0, len(sale.Pauses)), // empty is not null
		ResumedAt: make([]time.Time, 0, len(sale.Pauses)),
	}
	if !sale.ClosedAt.IsZero() {
		update.ClosedAt = &sale.ClosedAt
	}
	for _, pause := range sale.Pauses {
		update.PausedAt = append(update.PausedAt, pause.From)
		if !pause.Until.IsZero() {
			update.ResumedAt = append(update.ResumedAt, pause.Until)
		}
	}
	return update
}
