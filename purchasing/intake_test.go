package purchasing_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/postgres/postgrestest"
	"seckill/purchasing"
)

func TestIntake_Submit(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 500)
	ctx := t.Context()

	t.Run("ConcurrentCallersShareTransactions", func(t *testing.T) {
		sale := n.sale(t, 10, 1)
		const callers = 300
		var wg sync.WaitGroup
		var mu sync.Mutex
		ids := make(map[uuid.UUID]bool)
		for i := range callers {
			wg.Go(func() {
				accepted, err := n.intake.Submit(ctx, purchasing.Request{SaleID: sale, UserID: fmt.Sprint(i), Quantity: 1})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				ids[accepted.RequestID] = true
			})
		}
		wg.Wait()
		if len(ids) != callers {
			t.Errorf("%d distinct request IDs, want %d", len(ids), callers)
		}
		if got := value[int](t, n, "select count(*) from events where sale_id = $1 and version = 1 and type = 'PurchaseRequested'", sale); got != callers {
			t.Errorf("%d events, want %d", got, callers)
		}
		transactions := value[int](t, n, "select count(distinct transaction_id) from events where sale_id = $1 and type = 'PurchaseRequested'", sale)
		if transactions > callers/3 {
			t.Errorf("%d callers used %d transactions: they are not grouped", callers, transactions)
		}
		jobs := value[int](t, n, "select count(*) from river_job where args->>'saleId' = $1", fmt.Sprint(sale))
		if jobs != transactions {
			t.Errorf("%d jobs for %d transactions", jobs, transactions)
		}
		counted := value[int](t, n, "select sum((args->>'count')::int) from river_job where args->>'saleId' = $1", fmt.Sprint(sale))
		if counted != callers {
			t.Errorf("the jobs count %d requests, want %d", counted, callers)
		}
	})

	t.Run("SaleNotFound", func(t *testing.T) {
		_, err := n.intake.Submit(ctx, purchasing.Request{SaleID: 999, UserID: "42", Quantity: 1})
		if !errors.Is(err, purchasing.ErrSaleNotFound) {
			t.Errorf("got %v, want ErrSaleNotFound", err)
		}
	})

	t.Run("QuantityOverLimit", func(t *testing.T) {
		_, err := n.intake.Submit(ctx, purchasing.Request{SaleID: n.sale(t, 10, 2), UserID: "42", Quantity: 3})
		var over *purchasing.QuantityError
		if !errors.As(err, &over) || over.Limit != 2 {
			t.Errorf("got %v, want a QuantityError of 2", err)
		}
	})

	t.Run("RefusedBeforeItOpens", func(t *testing.T) {
		id, err := n.sales.Schedule(ctx, domain.SaleScheduled{
			Currency: "CNY", Stock: 1, PerUserLimit: 1, OpensAt: time.Now().Add(time.Hour), ClosesAt: time.Now().Add(2 * time.Hour),
			PaymentTimeout: domain.Duration(time.Minute),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = n.intake.Submit(ctx, purchasing.Request{SaleID: id, UserID: "42", Quantity: 1})
		var refused *purchasing.RefusedError
		if !errors.As(err, &refused) || refused.Reason != domain.ReasonSaleNotOpen {
			t.Errorf("got %v, want a refusal as sale_not_open", err)
		}
	})
}

func TestIntake_IdempotencyKey(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 500)
	sale := n.sale(t, 10, 5)
	ctx := t.Context()
	request := func(key, hash string) purchasing.Request {
		return purchasing.Request{SaleID: sale, UserID: "42", Quantity: 1, Key: key, BodyHash: []byte(hash)}
	}

	t.Run("ConcurrentRepeatsAreOneRequest", func(t *testing.T) {
		var wg sync.WaitGroup
		var fresh atomic.Int32
		var mu sync.Mutex
		ids := make(map[uuid.UUID]bool)
		for range 50 {
			wg.Go(func() {
				accepted, err := n.intake.Submit(ctx, request("double-click", "same"))
				if err != nil {
					t.Error(err)
				}
				if !accepted.Replay {
					fresh.Add(1)
				}
				mu.Lock()
				defer mu.Unlock()
				ids[accepted.RequestID] = true
			})
		}
		wg.Wait()
		if len(ids) != 1 || fresh.Load() != 1 {
			t.Errorf("%d request IDs, %d of them new; want one", len(ids), fresh.Load())
		}
		if events := value[int](t, n, "select count(*) from events where sale_id = $1 and type = 'PurchaseRequested'", sale); events != 1 {
			t.Errorf("%d events, want 1", events)
		}
	})

	t.Run("AnotherBody", func(t *testing.T) {
		if _, err := n.intake.Submit(ctx, request("reused", "one")); err != nil {
			t.Fatal(err)
		}
		if _, err := n.intake.Submit(ctx, request("reused", "other")); !errors.Is(err, purchasing.ErrKeyReused) {
			t.Errorf("got %v, want ErrKeyReused", err)
		}
	})

	t.Run("AnotherUsersKeyIsAnotherKey", func(t *testing.T) {
		first, err := n.intake.Submit(ctx, request("shared", "same"))
		if err != nil {
			t.Fatal(err)
		}
		other := request("shared", "same")
		other.UserID = "43"
		second, err := n.intake.Submit(ctx, other)
		if err != nil || second.Replay || second.RequestID == first.RequestID {
			t.Errorf("got %+v and %v, want a request of its own", second, err)
		}
	})

	t.Run("FreeAgainAfterADay", func(t *testing.T) {
		first, err := n.intake.Submit(ctx, request("daily", "same"))
		if err != nil {
			t.Fatal(err)
		}
		n.exec(t, "update idempotency_keys set created_at = created_at - interval '25 hours' where key = 'daily'")
		second, err := n.intake.Submit(ctx, request("daily", "other"))
		if err != nil || second.RequestID == first.RequestID {
			t.Errorf("got %+v and %v, want a new request", second, err)
		}
	})
}

// More than can wait is refused; what was taken in is kept (FAULTS 9).
func TestIntake_Bounded(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 500)
	sale := n.sale(t, 10, 1)
	n.submit(t, sale, "first", 1) // the board knows the sale from here on

	blocker, err := n.pools.Read.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blocker.Exec(t.Context(), "set local idle_in_transaction_session_timeout = 0; lock table events in exclusive mode"); err != nil {
		t.Fatal(err)
	}
	const callers = 10_000
	var accepted, overloaded atomic.Int32
	var wg sync.WaitGroup
	refusedOnce := make(chan struct{})
	var once sync.Once
	for i := range callers {
		wg.Go(func() {
			_, err := n.intake.Submit(context.Background(), purchasing.Request{SaleID: sale, UserID: fmt.Sprint(i), Quantity: 1})
			switch {
			case err == nil:
				accepted.Add(1)
			case errors.Is(err, purchasing.ErrOverloaded):
				overloaded.Add(1)
				once.Do(func() { close(refusedOnce) })
			default:
				t.Error(err)
			}
		})
	}
	select {
	case <-refusedOnce:
	case <-time.After(10 * time.Second):
		t.Error("nothing was refused")
	}
	if err := blocker.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if overloaded.Load() == 0 || accepted.Load() == 0 || accepted.Load()+overloaded.Load() != callers {
		t.Errorf("%d accepted and %d refused of %d", accepted.Load(), overloaded.Load(), callers)
	}
	if events := value[int32](t, n, "select count(*) from events where type = 'PurchaseRequested'"); events != accepted.Load()+1 {
		t.Errorf("%d events for %d accepted", events, accepted.Load()+1)
	}
}

// While the database takes nothing, a buyer is not kept hanging: who is still
// queued after a second is refused, for certain, and every answer comes in seconds.
func TestIntake_RefusesWhatWaitsTooLong(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 1)
	sale := n.sale(t, 10, 1)
	n.submit(t, sale, "first", 1) // the board knows the sale from here on
	blocker, err := n.pools.Read.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blocker.Exec(t.Context(), "set local idle_in_transaction_session_timeout = 0; lock table events in exclusive mode"); err != nil {
		t.Fatal(err)
	}
	const callers = 10 // two flushers take one each, the others wait behind them
	var overloaded, unavailable atomic.Int32
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			start := time.Now()
			_, err := n.intake.Submit(context.Background(), purchasing.Request{SaleID: sale, UserID: fmt.Sprint(i), Quantity: 1})
			took := time.Since(start)
			var unknown *purchasing.UnavailableError
			switch {
			case errors.Is(err, purchasing.ErrOverloaded):
				overloaded.Add(1)
				if took > 2*time.Second {
					t.Errorf("refused after %s, want about a second", took)
				}
			case errors.As(err, &unknown):
				unavailable.Add(1)
				if took > 6*time.Second {
					t.Errorf("answered after %s, want about four seconds", took)
				}
			default:
				t.Errorf("got %v while the database takes nothing", err)
			}
		})
	}
	wg.Wait()
	if err := blocker.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if overloaded.Load() != callers-2 || unavailable.Load() != 2 {
		t.Errorf("%d overloaded and %d unavailable, want %d and 2", overloaded.Load(), unavailable.Load(), callers-2)
	}
	n.submit(t, sale, "last", 1) // what was refused is not taken in before it
	if users := value[string](t, n, "select string_agg(data->>'userId', ' ' order by position) from events where type = 'PurchaseRequested'"); users != "first last" {
		t.Errorf("taken in: %s; want only first and last", users)
	}
}

// A node that is frozen in the middle of intake holds the keys that it claimed.
// Whoever sends one again to another node gets in soon all the same.
func TestIntake_KeyHeldByAFrozenNode(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 500)
	sale := n.sale(t, 10, 1)
	frozen, err := n.pools.Intake.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = frozen.Rollback(t.Context()) }()
	if _, err := frozen.Exec(t.Context(), `insert into idempotency_keys (user_id, key, request_id, body_hash)
		values ('42', 'again', gen_random_uuid(), 'same')`); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	accepted, err := n.intake.Submit(t.Context(), purchasing.Request{SaleID: sale, UserID: "42", Quantity: 1, Key: "again", BodyHash: []byte("same")})
	if err != nil || accepted.Replay {
		t.Errorf("got %+v and %v, want a new request: the first was never committed", accepted, err)
	}
	if took := time.Since(start); took > 1800*time.Millisecond {
		t.Errorf("it took %s, want about a second", took)
	}
}
