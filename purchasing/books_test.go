package purchasing_test

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"seckill/domain"
	"seckill/projections"
	"seckill/purchasing"
)

// expire expires orders on the node until the test ends.
func (n *node) expire(t *testing.T) {
	t.Helper()
	n.background(t, purchasing.NewExpiry(n.pools.Expiry, n.store, slog.New(slog.DiscardHandler)).Run)
}

// outcome buys one unit and returns why not, or "" for who wins: it does not matter
// whether the door or the decision says so.
func (n *node) outcome(t *testing.T, saleID int64, user string) domain.Reason {
	t.Helper()
	accepted, err := n.intake.Submit(t.Context(), purchasing.Request{SaleID: saleID, UserID: user, Quantity: 1})
	if refused, ok := errors.AsType[*purchasing.RefusedError](err); ok {
		return refused.Reason
	}
	if err != nil {
		t.Fatal(err)
	}
	return n.decided(t, accepted.RequestID, soon).Reason
}

// won buys and returns the purchase, which must succeed.
func (n *node) won(t *testing.T, saleID int64, user string, quantity int) projections.Purchase {
	t.Helper()
	p := n.decided(t, n.submit(t, saleID, user, quantity), soon)
	if p.Status != projections.StatusSucceeded {
		t.Fatalf("got %+v, want a success", p)
	}
	return p
}

// order is an order of a crowd, in the order of deciding.
type order struct {
	id, user string
	payBy    time.Time
}

// sellTo sells one unit to each of so many buyers at once.
func (n *node) sellTo(t *testing.T, saleID int64, buyers int) []order {
	t.Helper()
	each(buyers, 200, func(i int) { n.submit(t, saleID, fmt.Sprint("buyer-", i), 1) })
	eventually(t, 30*time.Second, "all have their orders", func() bool {
		return value[int](t, n, "select count(*) from orders where sale_id = $1", saleID) == buyers
	})
	rows, err := n.pools.Read.Query(t.Context(), "select order_id, user_id, pay_by from orders where sale_id = $1 order by pay_by", saleID)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var orders []order
	for rows.Next() {
		var o order
		if err := rows.Scan(&o.id, &o.user, &o.payBy); err != nil {
			t.Fatal(err)
		}
		orders = append(orders, o)
	}
	return orders
}

// each calls do for 0 to count-1, so many at a time.
func each(count, atOnce int, do func(i int)) {
	var wg sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for i := range count {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			do(i)
		})
	}
	wg.Wait()
}

// checkBooks fails the test unless every order of the sale has at most one end and
// the stock, the allowances and the orders are what the events say: units come back
// once (FAULTS 14), and what is paid is reserved (FAULTS 15).
func (n *node) checkBooks(t *testing.T, saleID int64) {
	t.Helper()
	for what, sql := range map[string]string{
		"orders with two ends, or paid without units": `
			select count(*) from (
				select from events where sale_id = $1 and version > 2
				group by stream_id
				having count(*) filter (where type in ('OrderCancelled', 'OrderExpired', 'OrderRefunded')) > 1
					or count(*) filter (where type = 'OrderPaid') > 1
					or bool_or(type = 'OrderPaid') and bool_or(type in ('OrderCancelled', 'OrderExpired'))
					or bool_or(type = 'OrderRefunded') and not bool_or(type = 'OrderPaid')
			) x`,
		"payments after the time to pay": `
			select count(*) from events p join events c on c.stream_id = p.stream_id and c.version = 2
			where p.sale_id = $1 and p.type = 'OrderPaid' and p.recorded_at > (c.data->>'payBy')::timestamptz + interval '5 seconds'`,
		"expiries before the time to pay is over": `
			select count(*) from events p join events c on c.stream_id = p.stream_id and c.version = 2
			where p.sale_id = $1 and p.type = 'OrderExpired' and p.recorded_at < (c.data->>'payBy')::timestamptz`,
		"units that the stock is wrong by": `
			select abs(s.available - s.stock + coalesce((
				select sum(case
					when type = 'PurchaseConfirmed' then (data->>'quantity')::bigint
					when type in ('OrderCancelled', 'OrderExpired') or type = 'OrderRefunded' and data @> '{"restock": true}' then -(data->>'quantity')::bigint
					else 0 end)
				from events where sale_id = $1), 0))
			from sales s where s.sale_id = $1`,
		"buyers whose allowance is wrong": `
			with held as (
				select r.data->>'userId' as user_id, sum(case
					when e.type = 'PurchaseConfirmed' then (e.data->>'quantity')::bigint
					when e.type in ('OrderCancelled', 'OrderExpired', 'OrderRefunded') then -(e.data->>'quantity')::bigint
					else 0 end) as quantity
				from events e join events r on r.stream_id = e.stream_id and r.version = 1 and r.type = 'PurchaseRequested'
				where e.sale_id = $1 group by 1)
			select count(*) from held h left join allowances a on a.sale_id = $1 and a.user_id = h.user_id
			where coalesce(a.quantity, 0) <> h.quantity`,
		"allowances that name no order, or one that is not held": `
			select count(*) from allowances a left join orders o on o.order_id = a.order_id and o.request_id = a.request_id and o.user_id = a.user_id
			where a.sale_id = $1 and (a.quantity > 0) <> (coalesce(o.status, '') in ('pending_payment', 'paid'))`,
		"orders that show something else than their last event": `
			select count(*) from orders o join lateral (
				select type, version from events where stream_id = o.request_id order by version desc limit 1) e on true
			where o.sale_id = $1 and (o.version <> e.version or o.status <> case e.type
				when 'OrderPaid' then 'paid' when 'OrderCancelled' then 'cancelled' when 'OrderExpired' then 'expired'
				when 'OrderRefunded' then 'refunded' else 'pending_payment' end)`,
		"deadlocks": "select deadlocks + 0 * $1::bigint from pg_stat_database where datname = current_database()",
	} {
		if got := value[int](t, n, sql, saleID); got != 0 {
			t.Errorf("%d %s, want 0", got, what)
		}
	}
}

// ends counts the orders of a sale by status.
func (n *node) ends(t *testing.T, saleID int64) map[string]int {
	t.Helper()
	rows, err := n.pools.Read.Query(t.Context(), "select status, count(*) from orders where sale_id = $1 group by 1", saleID)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	counts := make(map[string]int)
	for rows.Next() {
		var status string
		var count int
		if err := rows.Scan(&status, &count); err != nil {
			t.Fatal(err)
		}
		counts[status] = count
	}
	return counts
}
