package purchasing_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/postgres/postgrestest"
	"seckill/projections"
	"seckill/purchasing"
)

// readSale reads a sale from the row that decides.
func (n *node) readSale(t *testing.T, id int64) projections.Sale {
	t.Helper()
	sale, err := projections.GetSale(t.Context(), n.pools.Read, id)
	if err != nil {
		t.Fatal(err)
	}
	return sale
}

// foldSale is the sale that its history makes, without its row.
func (n *node) foldSale(t *testing.T, id int64) domain.Sale {
	t.Helper()
	history, err := n.store.ReadStream(t.Context(), n.pools.Read, purchasing.SaleStreamID(id))
	if err != nil {
		t.Fatal(err)
	}
	sale := domain.NewSale(id, history[0].Data.(domain.SaleScheduled))
	for _, event := range history[1:] {
		sale.ApplyChange(event.Data, event.RecordedAt)
	}
	sale.Available -= value[int64](t, n,
		"select coalesce(sum((data->>'quantity')::bigint), 0)::bigint from events where sale_id = $1 and type = 'PurchaseConfirmed'", id)
	return sale
}

// requireFold fails the test unless the sale's row is what its history makes.
func (n *node) requireFold(t *testing.T, id int64) {
	t.Helper()
	if diff := cmp.Diff(n.foldSale(t, id), n.readSale(t, id).Sale); diff != "" {
		t.Errorf("the row is not the fold of the history (-history +row):\n%s", diff)
	}
}

// eventTypes are the events of a sale's own stream.
func (n *node) eventTypes(t *testing.T, id int64) []string {
	t.Helper()
	return value[[]string](t, n, "select array_agg(type order by version) from events where stream_id = $1", purchasing.SaleStreamID(id))
}

func TestSales_Commands(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 500)
	ctx := t.Context()
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	t.Run("ALife", func(t *testing.T) {
		sale := n.sale(t, 10, 1)
		closes := time.Now().Add(2 * time.Hour)
		must(t, n.sales.Pause(ctx, sale, []byte(`{"actor":"operator"}`)))
		must(t, n.sales.Resume(ctx, sale, nil))
		must(t, n.sales.Pause(ctx, sale, nil))
		must(t, n.sales.ChangeStock(ctx, sale, 5, nil))
		must(t, n.sales.ChangeStock(ctx, sale, -15, nil))
		must(t, n.sales.Reschedule(ctx, sale, nil, &closes, nil))
		must(t, n.sales.Close(ctx, sale, nil))
		want := []string{"SaleScheduled", "SalePaused", "SaleResumed", "SalePaused", "StockAdded", "StockRemoved", "SaleRescheduled", "SaleClosed"}
		if got := n.eventTypes(t, sale); !slices.Equal(got, want) {
			t.Errorf("the events are %v, want %v", got, want)
		}
		n.requireFold(t, sale)
		if got := n.readSale(t, sale); got.Revision != 8 || got.Stock != 0 || got.Available != 0 || got.Status(got.ServerTime) != domain.SaleStatusClosed {
			t.Errorf("got %+v", got)
		}
		if actor := value[string](t, n, "select metadata->>'actor' from events where stream_id = $1 and version = 2", purchasing.SaleStreamID(sale)); actor != "operator" {
			t.Errorf("the actor is %q", actor)
		}
	})

	t.Run("RepeatedTheyChangeNothing", func(t *testing.T) {
		sale := n.sale(t, 10, 1)
		for range 3 {
			must(t, n.sales.Resume(ctx, sale, nil))
		}
		for range 3 {
			must(t, n.sales.Pause(ctx, sale, nil))
		}
		closes := time.Now().Add(2 * time.Hour)
		for range 3 {
			must(t, n.sales.Reschedule(ctx, sale, nil, &closes, nil))
		}
		for range 3 {
			must(t, n.sales.Close(ctx, sale, nil))
		}
		want := []string{"SaleScheduled", "SalePaused", "SaleRescheduled", "SaleClosed"}
		if got := n.eventTypes(t, sale); !slices.Equal(got, want) {
			t.Errorf("the events are %v, want %v", got, want)
		}
		if got := n.readSale(t, sale).Revision; got != 4 {
			t.Errorf("the revision is %d, want 4", got)
		}
		n.requireFold(t, sale)
	})

	t.Run("RefusedTheyChangeNothing", func(t *testing.T) {
		sale := n.sale(t, 10, 1)
		opens := time.Now().Add(time.Minute)
		if err := n.sales.Reschedule(ctx, sale, &opens, nil, nil); !errors.Is(err, domain.ErrSaleAlreadyOpen) {
			t.Errorf("move the opening of an open sale: %v", err)
		}
		if _, ok := errors.AsType[*domain.StockNotAvailableError](n.sales.ChangeStock(ctx, sale, -11, nil)); !ok {
			t.Error("removed 11 units of 10")
		}
		must(t, n.sales.Close(ctx, sale, nil))
		before := n.readSale(t, sale).Revision
		for name, err := range map[string]error{
			"pause":      n.sales.Pause(ctx, sale, nil),
			"resume":     n.sales.Resume(ctx, sale, nil),
			"stock":      n.sales.ChangeStock(ctx, sale, 1, nil),
			"reschedule": n.sales.Reschedule(ctx, sale, nil, &opens, nil),
		} {
			if !errors.Is(err, domain.ErrSaleClosed) {
				t.Errorf("%s a closed sale: %v", name, err)
			}
		}
		if after := n.readSale(t, sale).Revision; after != before {
			t.Errorf("the revision went from %d to %d", before, after)
		}
	})

	t.Run("SaleNotFound", func(t *testing.T) {
		if err := n.sales.Pause(ctx, 999, nil); !errors.Is(err, purchasing.ErrSaleNotFound) {
			t.Errorf("got %v, want ErrSaleNotFound", err)
		}
	})

	t.Run("LockedForTooLong", func(t *testing.T) {
		sale := n.sale(t, 10, 1)
		release := lockSale(t, n, sale)
		defer release()
		began := time.Now()
		if err := n.sales.Pause(ctx, sale, nil); err == nil {
			t.Error("paused without the lock")
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// wrongVerdicts counts the requests of a sale that were not judged by its pauses and
// its closing as they stand in the events.
const wrongVerdicts = `
	with pauses as (
		select p.recorded_at as since,
			(select min(r.recorded_at) from events r where r.stream_id = p.stream_id and r.type = 'SaleResumed' and r.version > p.version) as until
		from events p where p.sale_id = $1 and p.type = 'SalePaused'
	),
	judged as (
		select a.recorded_at as accepted_at, d.type, d.data->>'reason' as reason,
			exists (select from pauses where a.recorded_at >= since and (until is null or a.recorded_at < until)) as in_pause,
			coalesce(a.recorded_at >= (select recorded_at from events where sale_id = $1 and type = 'SaleClosed'), false) as after_closing
		from events a join events d on d.stream_id = a.stream_id and d.version = 2
		where a.sale_id = $1 and a.type = 'PurchaseRequested'
	)
	select count(*) from judged
	where after_closing <> (coalesce(reason, '') = 'sale_closed')
		or not after_closing and in_pause <> (coalesce(reason, '') = 'sale_paused')`

// What an operator does while hundreds buy: every request is judged by the moment of
// its acceptance, the stock is exact, and the row is what the history makes.
func TestSales_CommandsRaceBuyers(t *testing.T) {
	t.Parallel()
	url := postgrestest.New(t)
	nodes := []*node{newNode(t, url, 50), newNode(t, url, 50)}
	n := nodes[0]
	for _, n := range nodes {
		n.work(t)
	}
	const buyers = 300
	sale := n.sale(t, 60, 1)
	ctx := context.WithoutCancel(t.Context())

	var shopping, operating sync.WaitGroup
	var accepted atomic.Int32
	for i := range buyers {
		shopping.Go(func() {
			time.Sleep(rand.N(1500 * time.Millisecond))
			_, err := nodes[i%2].intake.Submit(ctx, purchasing.Request{SaleID: sale, UserID: fmt.Sprint(i), Quantity: 1})
			refused, ok := errors.AsType[*purchasing.RefusedError](err)
			switch {
			case err == nil:
				accepted.Add(1)
			case !ok || refused.Reason != domain.ReasonSalePaused && refused.Reason != domain.ReasonSaleClosed && refused.Reason != domain.ReasonSoldOut:
				t.Error(err)
			}
		})
	}
	over := make(chan struct{})
	operate := func(n *node, commands ...func(*purchasing.Sales) error) {
		operating.Go(func() {
			for {
				for _, command := range commands {
					select {
					case <-over:
						return
					case <-time.After(rand.N(60 * time.Millisecond)):
					}
					err := command(n.sales)
					if _, short := errors.AsType[*domain.StockNotAvailableError](err); err != nil && !short && !errors.Is(err, domain.ErrSaleClosed) {
						t.Error(err)
					}
				}
			}
		})
	}
	operate(nodes[0],
		func(s *purchasing.Sales) error { return s.Pause(ctx, sale, nil) },
		func(s *purchasing.Sales) error { return s.Resume(ctx, sale, nil) })
	operate(nodes[1],
		func(s *purchasing.Sales) error { return s.ChangeStock(ctx, sale, 20, nil) },
		func(s *purchasing.Sales) error { return s.ChangeStock(ctx, sale, -1-rand.Int64N(30), nil) })
	operate(nodes[1], func(s *purchasing.Sales) error {
		closes := time.Now().Add(time.Hour + rand.N(time.Hour))
		return s.Reschedule(ctx, sale, nil, &closes, nil)
	})
	time.Sleep(1200 * time.Millisecond)
	if err := n.sales.Close(ctx, sale, nil); err != nil {
		t.Error(err)
	}
	shopping.Wait()
	close(over)
	operating.Wait()
	eventually(t, 30*time.Second, "all are decided", func() bool {
		return value[int32](t, n, "select count(*) from events where sale_id = $1 and version = 2 and type like 'Purchase%'", sale) == accepted.Load()
	})

	n.requireFold(t, sale)
	if wrong := value[int](t, n, wrongVerdicts, sale); wrong != 0 {
		t.Errorf("%d requests were judged by another moment than that of their acceptance", wrong)
	}
	reasons := value[string](t, n, `select string_agg(format('%s %s', count, outcome), ', ' order by outcome) from (
		select coalesce(data->>'reason', 'confirmed') as outcome, count(*) from events
		where sale_id = $1 and version = 2 and type like 'Purchase%' group by 1) x`, sale)
	t.Logf("%s; %d events of the sale", reasons, len(n.eventTypes(t, sale)))
	if below := value[int64](t, n, `select min(free) from (
		select sum(case type
			when 'SaleScheduled' then (data->>'stock')::bigint
			when 'StockAdded' then (data->>'quantity')::bigint
			when 'StockRemoved' then -(data->>'quantity')::bigint
			when 'PurchaseConfirmed' then -(data->>'quantity')::bigint
			else 0 end) over (order by transaction_id, position)::bigint as free
		from events where sale_id = $1) x`, sale); below < 0 {
		t.Errorf("%d units were free at some point", below)
	}
	if inverted := value[int](t, n, `select count(*) from (
		select recorded_at < lag(recorded_at) over (order by transaction_id, position) as earlier
		from events where sale_id = $1 and type <> 'PurchaseRequested') x where earlier`, sale); inverted != 0 {
		t.Errorf("%d events of the sale come before others that were recorded later", inverted)
	}
	if deadlocks := value[int](t, n, "select deadlocks from pg_stat_database where datname = current_database()"); deadlocks != 0 {
		t.Errorf("%d deadlocks, want 0", deadlocks)
	}
}

// A request that was accepted before a pause or before the closing is decided as if
// there were none, however late; what is accepted after the pause is sold.
func TestSales_JudgedByAcceptance(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 500)
	sale := n.sale(t, 10, 1)
	ctx := t.Context()
	before := n.submit(t, sale, "before", 1)
	steps := []struct {
		command func(context.Context, int64, []byte) error
		user    string
		want    domain.Reason
	}{
		{n.sales.Pause, "in the pause", domain.ReasonSalePaused},
		{n.sales.Resume, "after it", ""},
		{n.sales.Close, "too late", domain.ReasonSaleClosed},
	}
	want := map[uuid.UUID]domain.Reason{before: ""}
	for _, step := range steps {
		if err := step.command(ctx, sale, nil); err != nil {
			t.Fatal(err)
		}
		want[n.submit(t, sale, step.user, 1)] = step.want // the board of this node is not kept fresh
	}
	n.work(t)
	for id, reason := range want {
		if purchase := n.decided(t, id, soon); purchase.Reason != reason {
			t.Errorf("%s: got %+v, want the reason %q", purchase.UserID, purchase, reason)
		}
	}
	n.requireFold(t, sale)
}

// The door follows a command: at once where the node hears of it, within about a
// second where it does not.
func TestBoard_FollowsCommands(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		deaf   bool
		within time.Duration
	}{
		"Hears": {false, 600 * time.Millisecond},
		"Deaf":  {true, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, postgrestest.New(t), 500)
			sale := n.sale(t, 10, 1)
			logger := slog.New(slog.DiscardHandler)
			board := purchasing.NewBoard(n.pools.Read, logger)
			listener := eventstore.NewListener(n.pools.Read, n.store, board, logger)
			ctx, stop := context.WithCancel(t.Context())
			var running sync.WaitGroup
			defer running.Wait()
			defer stop()
			running.Go(func() { board.Run(ctx) })
			if !test.deaf {
				running.Go(func() { _ = listener.Run(ctx) }) // it only ends with the context
				eventually(t, soon, "the listener hears", func() bool {
					ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
					defer cancel()
					return listener.Ping(ctx) == nil
				})
			}
			says := func(want domain.Reason) func() bool {
				return func() bool {
					_, reason, err := board.Sale(ctx, sale)
					if err != nil {
						t.Fatal(err)
					}
					return reason == want
				}
			}
			eventually(t, test.within, "the door is open", says(""))
			for _, step := range []struct {
				command func(context.Context, int64, []byte) error
				want    domain.Reason
			}{
				{n.sales.Pause, domain.ReasonSalePaused},
				{n.sales.Resume, ""},
				{n.sales.Pause, domain.ReasonSalePaused},
				{n.sales.Close, domain.ReasonSaleClosed},
			} {
				if err := step.command(ctx, sale, nil); err != nil {
					t.Fatal(err)
				}
				eventually(t, test.within, fmt.Sprintf("the door says %q", step.want), says(step.want))
			}
		})
	}
}
