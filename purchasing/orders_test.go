package purchasing_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"seckill/domain"
	"seckill/postgres/postgrestest"
	"seckill/projections"
	"seckill/purchasing"
)

func TestOrders(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 500)
	n.work(t)
	ctx := t.Context()
	show := func(t *testing.T, orderID string) projections.Order {
		t.Helper()
		o, err := projections.GetOrder(ctx, n.pools.Read, orderID)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	is := func(t *testing.T, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}

	t.Run("PaidThenRefunded", func(t *testing.T) {
		sale := n.sale(t, 2, 2)
		p := n.won(t, sale, "42", 2)
		is(t, n.orders.Refund(ctx, p.OrderID, "refund", true, nil), domain.ErrOrderNotPaid)
		is(t, n.orders.Pay(ctx, p.OrderID, "pay", nil, []byte(`{"actor":"payment"}`)), nil)
		is(t, n.orders.Pay(ctx, p.OrderID, "pay", nil, nil), nil)
		is(t, n.orders.Pay(ctx, p.OrderID, "other", nil, nil), domain.ErrAlreadyPaid)
		is(t, n.orders.Cancel(ctx, p.OrderID, "42", nil), domain.ErrOrderPaid)
		paid := show(t, p.OrderID)
		if paid.Status != domain.StatusPaid || paid.PaidAt.IsZero() || !paid.EndedAt.IsZero() {
			t.Errorf("got %+v, want it paid", paid)
		}
		is(t, n.orders.Refund(ctx, p.OrderID, "refund", true, nil), nil)
		is(t, n.orders.Refund(ctx, p.OrderID, "refund", false, nil), nil)
		is(t, n.orders.Refund(ctx, p.OrderID, "other", true, nil), domain.ErrAlreadyRefunded)
		refunded := show(t, p.OrderID)
		if refunded.Status != domain.StatusRefunded || !refunded.PaidAt.Equal(paid.PaidAt) || refunded.EndedAt.IsZero() {
			t.Errorf("got %+v, want it refunded", refunded)
		}
		if events := value[int](t, n, "select count(*) from events where stream_id = $1", p.RequestID); events != 4 {
			t.Errorf("%d events, want 4: what is repeated leaves none", events)
		}
		n.won(t, sale, "43", 2)
		n.checkBooks(t, sale)
	})

	t.Run("CancelledAndBoughtAgain", func(t *testing.T) {
		sale := n.sale(t, 1, 1)
		p := n.won(t, sale, "42", 1)
		is(t, n.orders.Cancel(ctx, p.OrderID, "another user", nil), purchasing.ErrOrderNotFound)
		is(t, n.orders.Cancel(ctx, p.OrderID, "42", nil), nil)
		is(t, n.orders.Cancel(ctx, p.OrderID, "42", nil), nil)
		is(t, n.orders.Pay(ctx, p.OrderID, "pay", nil, nil), domain.ErrOrderCancelled)
		if o := show(t, p.OrderID); o.Status != domain.StatusCancelled || o.EndedAt.IsZero() {
			t.Errorf("got %+v, want it cancelled", o)
		}
		n.won(t, sale, "42", 1)
		n.checkBooks(t, sale)
	})

	t.Run("RefundWithoutRestockSellsNothingAgain", func(t *testing.T) {
		sale := n.sale(t, 1, 1)
		p := n.won(t, sale, "42", 1)
		is(t, n.orders.Pay(ctx, p.OrderID, "pay", nil, nil), nil)
		is(t, n.orders.Refund(ctx, p.OrderID, "refund", false, nil), nil)
		n.checkBooks(t, sale)
		// The limit is free again, the unit is not.
		if got := n.outcome(t, sale, "42"); got != domain.ReasonSoldOut {
			t.Errorf("got %q, want sold_out", got)
		}
	})

	// However the orders of a buyer end, limit_exceeded names one that is still held.
	t.Run("LimitExceededNamesWhatIsStillHeld", func(t *testing.T) {
		sale := n.sale(t, 10, 3)
		first, second, third := n.won(t, sale, "42", 1), n.won(t, sale, "42", 1), n.won(t, sale, "42", 1)
		names := func(quantity int, want projections.Purchase) {
			t.Helper()
			p := n.decided(t, n.submit(t, sale, "42", quantity), soon)
			if p.Reason != domain.ReasonLimitExceeded || p.ExistingRequestID != want.RequestID || p.ExistingOrderID != want.OrderID {
				t.Errorf("got %+v, want limit_exceeded that names %s", p, want.OrderID)
			}
		}
		is(t, n.orders.Pay(ctx, first.OrderID, "pay", nil, nil), nil)
		names(1, third)
		is(t, n.orders.Cancel(ctx, third.OrderID, "42", nil), nil)
		names(2, second)
		is(t, n.orders.Cancel(ctx, second.OrderID, "42", nil), nil)
		names(3, first)
		is(t, n.orders.Refund(ctx, first.OrderID, "refund", true, nil), nil)
		n.checkBooks(t, sale)
		n.won(t, sale, "42", 3)
		n.checkBooks(t, sale)
	})

	t.Run("NotInTime", func(t *testing.T) { // though nothing expires here
		sale := n.saleToPayIn(t, 1, 1, time.Second)
		p := n.won(t, sale, "42", 1)
		time.Sleep(time.Until(p.PayBy) + 10*time.Millisecond)
		is(t, n.orders.Pay(ctx, p.OrderID, "pay", nil, nil), domain.ErrPaymentTooLate)
		is(t, n.orders.Cancel(ctx, p.OrderID, "42", nil), domain.ErrOrderExpired)
		if o := show(t, p.OrderID); o.Status != domain.StatusPendingPayment {
			t.Errorf("got %+v: a refusal changes nothing", o)
		}
	})

	t.Run("BadInput", func(t *testing.T) {
		sale := n.sale(t, 1, 1)
		p := n.won(t, sale, "42", 1)
		wrong := int64(99)
		for field, err := range map[string]error{
			"paymentReference": n.orders.Pay(ctx, p.OrderID, "", nil, nil),
			"amount":           n.orders.Pay(ctx, p.OrderID, "pay", &wrong, nil),
		} {
			if invalid, ok := errors.AsType[*domain.InvalidError](err); !ok || invalid.Field != field {
				t.Errorf("got %v, want that %s is wrong", err, field)
			}
		}
		is(t, n.orders.Pay(ctx, domain.OrderID(1<<39), "pay", nil, nil), purchasing.ErrOrderNotFound)
		is(t, n.orders.Cancel(ctx, domain.OrderID(1<<39), "42", nil), purchasing.ErrOrderNotFound)
		is(t, n.orders.Refund(ctx, domain.OrderID(1<<39), "refund", true, nil), purchasing.ErrOrderNotFound)
	})

	// A result stays what it was, and one whose row is gone does not come back.
	t.Run("ResultsAreLeftAlone", func(t *testing.T) {
		sale := n.sale(t, 2, 2)
		kept, gone := n.won(t, sale, "42", 1), n.won(t, sale, "42", 1)
		row := func() string {
			return value[string](t, n, "select r::text from purchase_results r where request_id = $1", kept.RequestID)
		}
		before := row()
		is(t, n.orders.Cancel(ctx, kept.OrderID, "42", nil), nil)
		if after := row(); after != before {
			t.Errorf("the result was %s and is %s", before, after)
		}
		n.exec(t, "delete from purchase_results where request_id = $1", gone.RequestID)
		n.exec(t, "alter table events disable trigger user")
		n.exec(t, "update events set recorded_at = recorded_at - interval '31 minutes' where stream_id = $1", gone.RequestID)
		n.exec(t, "alter table events enable trigger user")
		is(t, n.orders.Cancel(ctx, gone.OrderID, "42", nil), nil)
		if rows := value[int](t, n, "select count(*) from purchase_results where request_id = $1", gone.RequestID); rows != 0 {
			t.Errorf("the result of a cancelled order came back after half an hour")
		}
		for _, p := range []projections.Purchase{kept, gone} {
			if got := n.decided(t, p.RequestID, soon); got.Status != projections.StatusSucceeded || got.OrderID != p.OrderID || got.Version != 2 {
				t.Errorf("got %+v, want the success that it was", got)
			}
		}
	})
}

// Whoever keeps a sale or a purchase locked delays only those who need just that
// (FAULTS 16): a payment waits for no sale, a sale and the other orders for no
// purchase.
func TestOrders_LocksOfOthers(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 500)
	n.work(t)
	sale := n.sale(t, 10, 10)
	paid, locked, free := n.won(t, sale, "42", 1), n.won(t, sale, "42", 1), n.won(t, sale, "42", 1)

	release := lockSale(t, n, sale)
	if err := n.orders.Pay(t.Context(), paid.OrderID, "pay", nil, nil); err != nil {
		t.Errorf("pay while the sale is locked: %v", err)
	}
	var cancels sync.WaitGroup
	for range 10 { // more than there are connections
		cancels.Go(func() {
			if err := n.orders.Cancel(t.Context(), free.OrderID, "42", nil); err == nil {
				t.Error("cancelled without the lock of the sale")
			}
		})
	}
	begun := time.Now()
	for range 20 {
		if err := n.orders.Pay(t.Context(), paid.OrderID, "pay", nil, nil); err != nil {
			t.Errorf("pay while cancels wait for the sale: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if took := time.Since(begun); took > time.Second {
		t.Errorf("twenty payments took %s while cancels waited for the sale", took)
	}
	cancels.Wait()
	release()

	release = lockPurchase(t, n, locked.RequestID)
	defer release()
	if err := n.orders.Pay(t.Context(), locked.OrderID, "pay", nil, nil); err == nil {
		t.Error("paid without the lock of the purchase")
	}
	if err := n.orders.Cancel(t.Context(), free.OrderID, "42", nil); err != nil {
		t.Errorf("cancel another order while a purchase is locked: %v", err)
	}
	n.won(t, sale, "43", 1)
	n.checkBooks(t, sale)
}

// lockPurchase holds the lock of a purchase until release is called.
func lockPurchase(t *testing.T, n *node, requestID uuid.UUID) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), n.url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "select pg_advisory_lock(3554, uuid_hash($1::text::uuid))", requestID.String()); err != nil { // 0x0DE2
		t.Fatal(err)
	}
	return func() { _ = conn.Close(t.Context()) }
}
