package acceptance_test

import "slices"

// model is what the service promises of sales and orders, in a hundred lines. It
// knows nothing of requests, jobs, events and nodes.
type model struct {
	orders []*modelOrder
	sales  []*modelSale
}

type modelSale struct {
	stock, free, limit     int64
	opened, paused, closed bool
}

type modelOrder struct {
	sale                   *modelSale
	id, user, status       string
	quantity               int64
	paidWith, refundedWith string
}

// refusals are all true reasons why a purchase fails. It is won if there is none.
func (m *model) refusals(s *modelSale, user string, quantity int64) (reasons []string) {
	for reason, holds := range map[string]bool{
		"quantity_over_limit": quantity > s.limit,
		"sale_closed":         s.closed,
		"sale_not_open":       !s.opened,
		"sale_paused":         s.paused,
		"limit_exceeded":      m.held(s, user)+quantity > s.limit,
		"sold_out":            quantity > s.free,
	} {
		if holds {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}

// held is what a buyer holds of a sale.
func (m *model) held(s *modelSale, user string) (units int64) {
	for _, o := range m.orders {
		if o.sale == s && o.user == user && (o.status == "pending_payment" || o.status == "paid") {
			units += o.quantity
		}
	}
	return units
}

func (m *model) win(s *modelSale, id, user string, quantity int64) {
	s.free -= quantity
	m.orders = append(m.orders, &modelOrder{sale: s, id: id, user: user, status: "pending_payment", quantity: quantity})
}

// How a command on an order is answered that has that status by then: not at all
// with 200.
var (
	payRefusals    = map[string]string{"cancelled": "order_cancelled", "expired": "payment_too_late"}
	cancelRefusals = map[string]string{"paid": "order_paid", "refunded": "order_paid", "expired": "order_expired"}
	refundRefusals = map[string]string{"pending_payment": "order_not_paid", "cancelled": "order_not_paid", "expired": "order_not_paid"}
)

func (o *modelOrder) pay(reference string) string {
	if o.status == "pending_payment" {
		o.status, o.paidWith = "paid", reference
	}
	if o.paidWith != "" && o.paidWith != reference {
		return "already_paid"
	}
	return payRefusals[o.status]
}

func (o *modelOrder) refund(reference string, restock bool) string {
	if o.status == "paid" {
		o.end("refunded", restock)
		o.refundedWith = reference
	}
	if o.refundedWith != "" && o.refundedWith != reference {
		return "already_refunded"
	}
	return refundRefusals[o.status]
}

func (o *modelOrder) cancel() string {
	if o.status == "pending_payment" {
		o.end("cancelled", true)
	}
	return cancelRefusals[o.status]
}

func (o *modelOrder) end(status string, restock bool) {
	if o.status = status; restock {
		o.sale.free += o.quantity
	}
}

func (s *modelSale) changeStock(delta int64) string {
	if s.closed {
		return "sale_closed"
	} else if s.free+delta < 0 {
		return "stock_not_available"
	}
	s.stock, s.free = s.stock+delta, s.free+delta
	return ""
}

// status is the first that fits.
func (s *modelSale) status() string {
	fits := []bool{s.closed, !s.opened, s.paused, s.free == 0, true}
	return []string{"closed", "scheduled", "paused", "sold_out", "open"}[slices.Index(fits, true)]
}
