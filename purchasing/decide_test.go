package purchasing_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/postgres/postgrestest"
	"seckill/projections"
)

const soon = 10 * time.Second

func TestDecideWorker(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 500)
	n.work(t)

	t.Run("Confirms", func(t *testing.T) {
		sale := n.sale(t, 10, 2)
		purchase := n.decided(t, n.submit(t, sale, "42", 2), soon)
		if purchase.Status != projections.StatusSucceeded || purchase.OrderID == "" {
			t.Fatalf("got %+v, want a success with an order", purchase)
		}
		order, err := projections.GetOrder(t.Context(), n.pools.Read, purchase.OrderID)
		if err != nil {
			t.Fatal(err)
		}
		if order.Amount != 200 || order.Quantity != 2 || order.UserID != "42" || order.GoodsID != sale {
			t.Errorf("got order %+v", order)
		}
		if available := value[int](t, n, "select available from sales where sale_id = $1", sale); available != 8 {
			t.Errorf("%d available, want 8", available)
		}
	})

	t.Run("LimitExceededNamesWhatTheBuyerHas", func(t *testing.T) {
		sale := n.sale(t, 10, 1)
		first := n.decided(t, n.submit(t, sale, "42", 1), soon)
		second := n.decided(t, n.submit(t, sale, "42", 1), soon)
		if second.Reason != domain.ReasonLimitExceeded || second.ExistingRequestID != first.RequestID || second.ExistingOrderID != first.OrderID {
			t.Errorf("got %+v, want limit_exceeded that names %s and %s", second, first.RequestID, first.OrderID)
		}
		if available := value[int](t, n, "select available from sales where sale_id = $1", sale); available != 9 {
			t.Errorf("%d available, want 9: a rejection costs no stock", available)
		}
	})

	t.Run("LastUnitSells", func(t *testing.T) {
		sale := n.sale(t, 2, 2)
		if first := n.decided(t, n.submit(t, sale, "a", 1), soon); first.Status != projections.StatusSucceeded {
			t.Errorf("got %+v", first)
		}
		if tooMany := n.decided(t, n.submit(t, sale, "b", 2), soon); tooMany.Reason != domain.ReasonSoldOut {
			t.Errorf("got %+v, want sold_out", tooMany)
		}
		if last := n.decided(t, n.submit(t, sale, "b", 1), soon); last.Status != projections.StatusSucceeded {
			t.Errorf("got %+v, want the last unit", last)
		}
	})

	// A job that runs twice finds its requests decided (FAULTS 27).
	t.Run("SecondRunChangesNothing", func(t *testing.T) {
		sale := n.sale(t, 10, 1)
		n.decided(t, n.submit(t, sale, "42", 1), soon)
		snapshot := func() string {
			return value[string](t, n, `select md5(string_agg(e::text, ',' order by stream_id, version)) || (select s::text from sales s where sale_id = $1)
				from events e where sale_id = $1`, sale)
		}
		completed := func() bool {
			return value[bool](t, n, "select bool_and(state = 'completed') from river_job where args->>'saleId' = $1", fmt.Sprint(sale))
		}
		eventually(t, soon, "the job is completed", completed)
		before := snapshot()
		n.exec(t, "update river_job set state = 'available', finalized_at = null where args->>'saleId' = $1", fmt.Sprint(sale))
		eventually(t, soon, "the job has run again", completed)
		if after := snapshot(); after != before {
			t.Errorf("the second run changed the sale:\nbefore %s\nafter  %s", before, after)
		}
	})
}

// One poison request must not keep its neighbours from being decided (FAULTS 7),
// neither one that cannot be read nor one that the database refuses to write.
func TestDecideWorker_Poison(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 500)
	sale := n.sale(t, 100, 1)
	n.exec(t, `create function refuse_poison() returns trigger language plpgsql as $$
		begin
			if new.user_id like 'poison%' then
				raise exception 'poison' using errcode = 'check_violation';
			end if;
			return new;
		end $$`)
	n.exec(t, "create trigger poison before insert on orders for each row execute function refuse_poison()")
	n.exec(t, "create table unreadable as select gen_random_uuid() as id")

	// One batch: neighbours around two kinds of poison, all accepted before any worker runs.
	ids := make(map[string]uuid.UUID)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, user := range []string{"a", "b", "poison-1", "c", "poison-2", "d", "e"} {
		wg.Go(func() {
			id := n.submit(t, sale, user, 1)
			mu.Lock()
			defer mu.Unlock()
			ids[user] = id
		})
	}
	wg.Wait()
	n.exec(t, `insert into events (stream_id, version, transaction_id, sale_id, type, data)
		select u.id, 1, (select max(transaction_id) from events where type = 'PurchaseRequested'), $1, 'PurchaseRequested', '{"userId": 7}'
		from unreadable u`, sale)
	ids["unreadable"] = value[uuid.UUID](t, n, "select id from unreadable")

	n.work(t)
	for user, id := range ids {
		purchase := n.decided(t, id, soon)
		switch user {
		case "poison-1", "poison-2", "unreadable":
			if purchase.Reason != domain.ReasonInternal {
				t.Errorf("%s got %+v, want failed as internal", user, purchase)
			}
		default:
			if purchase.Status != projections.StatusSucceeded {
				t.Errorf("%s got %+v, want a success", user, purchase)
			}
		}
	}
	if available := value[int](t, n, "select available from sales where sale_id = $1", sale); available != 95 {
		t.Errorf("%d available, want 95", available)
	}
	eventually(t, soon, "the inbox is empty", func() bool {
		return value[int](t, n, "select count(*) from river_job where state <> 'completed'") == 0
	})
}

// Whoever holds the sale's lock for too long delays decisions, and costs nobody
// the purchase.
func TestDecideWorker_LockTimeoutRejectsNobody(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 500)
	n.work(t)
	sale := n.sale(t, 10, 1)
	release := lockSale(t, n, sale)
	ids := []uuid.UUID{n.submit(t, sale, "a", 1), n.submit(t, sale, "b", 1)}
	eventually(t, soon, "a worker gave up waiting for the lock", func() bool {
		return value[int](t, n, "select coalesce(max(attempt), 0) from river_job where args->>'saleId' = $1", fmt.Sprint(sale)) >= 2
	})
	if outcomes := value[int](t, n, "select count(*) from events where sale_id = $1 and version = 2", sale); outcomes != 0 {
		t.Fatalf("%d requests were decided without the lock", outcomes)
	}
	release()
	for _, id := range ids {
		if purchase := n.decided(t, id, soon); purchase.Status != projections.StatusSucceeded {
			t.Errorf("got %+v, want a success", purchase)
		}
	}
}

// What waits for a sale is decided by few transactions, whatever the number of
// jobs; the naive way takes one each.
func TestDecideWorker_Drains(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ maxBatch, least, most int }{
		"Batches": {500, 1, 5},
		"Naive":   {1, 40, 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, postgrestest.New(t), test.maxBatch)
			sale := n.sale(t, 30, 1)
			var last uuid.UUID
			for i := range 40 {
				last = n.submit(t, sale, fmt.Sprint(i), 1) // one transaction and one job each
			}
			n.work(t)
			n.decided(t, last, soon)
			eventually(t, soon, "all are decided", func() bool {
				return value[int](t, n, "select count(*) from events where sale_id = $1 and version = 2", sale) == 40
			})
			transactions := value[int](t, n, "select count(distinct transaction_id) from events where sale_id = $1 and type in ('PurchaseConfirmed', 'PurchaseRejected')", sale)
			if transactions < test.least || transactions > test.most {
				t.Errorf("decided by %d transactions, want %d to %d", transactions, test.least, test.most)
			}
			// In order of acceptance: the first 30 won.
			wrong := value[int](t, n, `select count(*) from (
				select r.data->>'userId' as user_id, d.type from events r join events d on d.stream_id = r.stream_id and d.version = 2
				where r.version = 1 and r.sale_id = $1 and r.type = 'PurchaseRequested') x
				where (type = 'PurchaseConfirmed') <> (user_id::int < 30)`, sale)
			if wrong != 0 {
				t.Errorf("%d were not decided in order of acceptance", wrong)
			}
		})
	}
}

// Several nodes, many goroutines, one database: no lost update, no unit too many,
// nobody twice (FAULTS 2, 3, 5).
func TestDecideWorker_SeveralNodes(t *testing.T) {
	t.Parallel()
	url := postgrestest.New(t)
	nodes := []*node{newNode(t, url, 50), newNode(t, url, 50), newNode(t, url, 50)}
	const stock, buyers = 100, 200
	sale := nodes[0].sale(t, stock, 1)
	for _, n := range nodes {
		n.work(t)
	}
	var wg sync.WaitGroup
	for buyer := range buyers {
		for _, n := range nodes { // each buyer presses on every node at once
			wg.Go(func() { n.submit(t, sale, fmt.Sprint(buyer), 1) })
		}
	}
	wg.Wait()
	n := nodes[0]
	eventually(t, 30*time.Second, "all are decided", func() bool {
		return value[int](t, n, "select count(*) from events where sale_id = $1 and version = 2", sale) == buyers*len(nodes)
	})
	if confirmed := value[int](t, n, "select count(*) from events where sale_id = $1 and type = 'PurchaseConfirmed'", sale); confirmed != stock {
		t.Errorf("%d confirmed of a stock of %d", confirmed, stock)
	}
	twice := value[int](t, n, `select count(*) from (
		select r.data->>'userId' from events r join events d on d.stream_id = r.stream_id and d.type = 'PurchaseConfirmed'
		where r.version = 1 and r.sale_id = $1 group by 1 having count(*) > 1) x`, sale)
	if twice != 0 {
		t.Errorf("%d buyers won twice", twice)
	}
	if available := value[int](t, n, "select available from sales where sale_id = $1", sale); available != 0 {
		t.Errorf("%d available, want 0", available)
	}
	if deadlocks := value[int](t, n, "select deadlocks from pg_stat_database where datname = current_database()"); deadlocks != 0 {
		t.Errorf("%d deadlocks, want 0", deadlocks)
	}
}
