package http_test

import (
	"maps"
	stdhttp "net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/domain"
)

// order is an order as answers show it.
type order struct {
	OrderID   string
	RequestID string
	SaleID    int64
	GoodsID   int64
	UserID    string
	Quantity  int
	Amount    int64
	Currency  string
	Status    string
	PayBy     time.Time
	CreatedAt time.Time
	PaidAt    time.Time
	EndedAt   time.Time
}

func TestServer_GetOrder(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	id := n.schedule(t, domain.SaleScheduled{GoodsID: 2002, Stock: 10, PerUserLimit: 3})
	won := n.result(t, n.buy(t, id, `{"userId":"42","quantity":3}`).RequestID)

	a := n.get(t, "/orders/"+won.OrderID).is(t, stdhttp.StatusOK)

	var got order
	a.into(t, &got)
	want := order{
		OrderID:   won.OrderID,
		RequestID: won.RequestID,
		SaleID:    id,
		GoodsID:   2002,
		UserID:    "42",
		Quantity:  3,
		Amount:    599_700,
		Currency:  "CNY",
		Status:    "pending_payment",
		PayBy:     won.PayBy,
		CreatedAt: won.DecidedAt,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the order (-want +got):\n%s", diff)
	}
	fields := []string{
		"amount", "createdAt", "currency", "goodsId", "orderId", "payBy", "quantity", "requestId", "saleId", "status", "userId",
	}
	if diff := cmp.Diff(fields, slices.Sorted(maps.Keys(a.fields(t)))); diff != "" {
		t.Errorf("the fields while it is not paid (-want +got):\n%s", diff)
	}
	if got := a.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q", got)
	}
}

func TestServer_GetOrder_NotFound(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	for name, id := range map[string]string{
		"Unknown":        domain.OrderID(42),
		"WrongCheck":     "7K4-M29-QX0",
		"Number":         "42",
		"Quote":          "'%20or%20''='",
		"Nul":            "%00",
		"NotUTF8":        "%ff",
		"RequestInstead": "01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n.get(t, "/orders/"+id).problem(t, stdhttp.StatusNotFound, "order_not_found")
		})
	}
}
