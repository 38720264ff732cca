package projections

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/queries"
)

// The row of an order is the fold of its stream, however it ended; an older fold
// that comes late changes nothing, and one may be applied again.
func TestOrders_Project(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	if _, err := pool.Exec(t.Context(), `insert into sales (sale_id, goods_id, name, price, currency, stock, available, per_user_limit, opens_at, closes_at, payment_timeout_us)
		values (1001, 7, '', 5, 'CNY', 9, 9, 9, now(), now() + interval '1 hour', 1)`); err != nil {
		t.Fatal(err)
	}
	decidedAt := time.Date(2026, 11, 11, 0, 0, 1, 0, time.UTC)
	confirmed := domain.PurchaseConfirmed{Quantity: 2, Amount: 10, Currency: "CNY", PayBy: decidedAt.Add(time.Hour)}
	paid := domain.OrderPaid{PaymentReference: "pay", Amount: 10}
	at := func(seconds int) time.Time { return decidedAt.Add(time.Duration(seconds) * time.Second) }
	project := func(stream *eventstore.Stream) {
		t.Helper()
		err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			var writes queries.Pipeline
			if err := (Orders{}).Project(t.Context(), &writes, []*eventstore.Stream{stream}); err != nil {
				return err
			}
			return writes.Send(t.Context(), tx)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var sequence int64
	for name, test := range map[string]struct {
		events          []domain.Event
		status          domain.OrderStatus
		paidAt, endedAt time.Time
	}{
		"Pending":   {nil, domain.StatusPendingPayment, time.Time{}, time.Time{}},
		"Paid":      {[]domain.Event{paid}, domain.StatusPaid, at(1), time.Time{}},
		"Cancelled": {[]domain.Event{domain.OrderCancelled{Quantity: 2}}, domain.StatusCancelled, time.Time{}, at(1)},
		"Expired":   {[]domain.Event{domain.OrderExpired{Quantity: 2}}, domain.StatusExpired, time.Time{}, at(1)},
		"Refunded":  {[]domain.Event{paid, domain.OrderRefunded{Quantity: 2, PaymentReference: "refund"}}, domain.StatusRefunded, at(1), at(2)},
	} {
		sequence++
		id, number := uuid.New(), domain.OrderID(sequence)
		confirmed.OrderID = number
		history := append([]domain.Event{domain.PurchaseRequested{UserID: name, Quantity: 2}, confirmed}, test.events...)
		events := make([]eventstore.Event, len(history))
		for i, data := range history {
			events[i] = eventstore.Event{StreamID: id, Version: i + 1, SaleID: 1001, Data: data, RecordedAt: at(i - 1)}
		}
		for _, length := range []int{2, len(events), 2, len(events)} {
			project(eventstore.LoadedStream(events[:length]))
		}
		got, err := GetOrder(t.Context(), pool, number)
		if err != nil {
			t.Fatal(err)
		}
		want := Order{
			OrderID: number, RequestID: id, SaleID: 1001, GoodsID: 7, UserID: name, Quantity: 2, Amount: 10, Currency: "CNY",
			Status: test.status, PayBy: confirmed.PayBy, CreatedAt: decidedAt, PaidAt: test.paidAt, EndedAt: test.endedAt,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the order (-want +got):\n%s", name, diff)
		}
	}
}
