package projections

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"seckill/audit"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/postgres"
	"seckill/postgres/postgrestest"
	"seckill/purchasing"
)

// sellingNode is a node that takes purchases in, decides, expires and adds up.
type sellingNode struct {
	intake *purchasing.Intake
	orders *purchasing.Orders
	pools  *postgres.Pools
	reader *Purchases
	sales  *purchasing.Sales
}

func startSelling(t *testing.T, url string) *sellingNode {
	t.Helper()
	pools, err := postgres.OpenPools(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pools.Close)
	logger := slog.New(slog.DiscardHandler)
	store := eventstore.New(Results{Retention: ResultsRetention}, Orders{})
	metrics := purchasing.NewMetrics(prometheus.NewRegistry())
	river, err := purchasing.NewRiver(t.Context(), pools.River, "test-"+rand.Text(), purchasing.NewDecideWorker(pools.Decide, store, 500, metrics, logger), logger)
	if err != nil {
		t.Fatal(err)
	}
	if err := river.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		if err := river.Stop(ctx); err != nil {
			t.Errorf("stop the queue: %v", err)
		}
	})
	intake := purchasing.NewIntake(purchasing.IntakeConfig{
		Backlog: purchasing.NewBacklog(pools.Read, logger), Board: purchasing.NewBoard(pools.Read, logger),
		Door: purchasing.NewDoor(pools.Intake, store, logger), Logger: logger, MaxBatch: 500, Metrics: metrics,
		Pool: pools.Intake, River: river, Store: store,
	})
	t.Cleanup(intake.Close)
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	loops.Go(func() { purchasing.NewExpiry(pools.Expiry, store, logger).Run(ctx) })
	loops.Go(func() { KeepActivity(ctx, pools.Read, logger) })
	loops.Go(func() { KeepResults(ctx, pools.Read, ResultsRetention, logger) })
	t.Cleanup(func() { cancel(); loops.Wait() })
	return &sellingNode{
		intake: intake, orders: purchasing.NewOrders(pools.Orders, store), pools: pools,
		reader: NewPurchases(store), sales: purchasing.NewSales(pools.Intake, store),
	}
}

func (n *sellingNode) sale(t *testing.T, stock int64, toPayIn time.Duration) int64 {
	t.Helper()
	id, err := n.sales.Schedule(t.Context(), domain.SaleScheduled{
		Name: "test", Currency: "CNY", Price: 100, Stock: stock, PerUserLimit: 1,
		ClosesAt: time.Now().Add(time.Hour), PaymentTimeout: domain.Duration(toPayIn),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// buy buys a unit, waits for the decision, and gives the command on the order.
func (n *sellingNode) buy(t *testing.T, saleID int64, user, command string) {
	t.Helper()
	accepted, err := n.intake.Submit(t.Context(), purchasing.Request{SaleID: saleID, UserID: user, Quantity: 1})
	if err != nil {
		if _, refused := errors.AsType[*purchasing.RefusedError](err); !refused {
			t.Errorf("buy: %v", err)
		}
		return
	}
	var purchase Purchase
	for deadline := time.Now().Add(30 * time.Second); !purchase.Decided(); time.Sleep(10 * time.Millisecond) {
		if purchase, err = n.reader.Get(t.Context(), n.pools.Read, accepted.RequestID); err != nil || time.Now().After(deadline) {
			t.Errorf("request %s is not decided: %v", accepted.RequestID, err)
			return
		}
	}
	if purchase.Status != StatusSucceeded {
		return
	}
	give := func(command string) {
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			var err error
			switch command {
			case "pay":
				err = n.orders.Pay(t.Context(), purchase.OrderID, "pay", nil, nil)
			case "cancel":
				err = n.orders.Cancel(t.Context(), purchase.OrderID, user, nil)
			case "refund":
				err = n.orders.Refund(t.Context(), purchase.OrderID, "refund", true, nil)
			}
			if _, refused := errors.AsType[domain.OrderError](err); err == nil || refused {
				return
			}
			if !errors.Is(err, purchasing.ErrOrderNotFound) || time.Now().After(deadline) { // its row may just be away
				t.Errorf("%s: %v", command, err)
				return
			}
		}
	}
	switch command {
	case "":
	case "refund":
		give("pay")
		give("refund")
	default:
		give(command)
	}
}

// crowd buys on all nodes until all have bought.
func crowd(t *testing.T, nodes []*sellingNode, saleID int64, name string, buyers int) {
	t.Helper()
	var all sync.WaitGroup
	room := make(chan struct{}, 40)
	for i := range buyers {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			nodes[i%len(nodes)].buy(t, saleID, fmt.Sprint(name, i), []string{"pay", "cancel", "refund", ""}[i/len(nodes)%4])
		})
	}
	all.Wait()
}

func connectTo(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// rebuilt rebuilds on a connection of its own, and returns what was done in the end.
func rebuilt(t *testing.T, url string, models ...Model) map[Model]Rebuilt {
	t.Helper()
	if len(models) == 0 {
		models = Models
	}
	done := make(map[Model]Rebuilt)
	if err := Rebuild(t.Context(), connectTo(t, url), models, func(r Rebuilt) { done[r.Model] = r }); err != nil {
		t.Fatal(err)
	}
	return done
}

func requireClean(t *testing.T, url string) {
	t.Helper()
	report, err := audit.Run(t.Context(), connectTo(t, url))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range report.Differences {
		t.Errorf("the audit found %s %s: expected %s, stored %s", d.Kind, d.Key, d.Expected, d.Stored)
	}
}

// tables are all rows of the read models.
func tables(t *testing.T, pool *pgxpool.Pool) map[string]string {
	t.Helper()
	rows := make(map[string]string)
	for table, key := range map[string]string{"orders": "order_id", "purchase_results": "request_id", "sale_activity": "sale_id, second"} {
		var text string
		sql := fmt.Sprintf("select coalesce(string_agg(r::text, E'\\n' order by %s), '') from %s r", key, table)
		if err := pool.QueryRow(t.Context(), sql).Scan(&text); err != nil {
			t.Fatal(err)
		}
		rows[table] = text
	}
	return rows
}

func awaitActivity(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		var behind bool
		err := pool.QueryRow(t.Context(), `select (select transaction_id from checkpoints where name = 'sale_activity')
			< (select coalesce(max(transaction_id), 0) from events)`).Scan(&behind)
		if err != nil {
			t.Fatal(err)
		}
		if !behind {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the activity is not added up")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// requireActivity compares the activity with what the reports say.
func requireActivity(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	var different int
	err := pool.QueryRow(t.Context(), `select count(*) from (
			select sale_id, second, requests, confirmed, rejected, turned_away from sale_activity
			where second > '-infinity' and requests + confirmed + rejected + turned_away > 0) a
		full join reporting.timeline r using (sale_id, second)
		where (a.requests, a.confirmed, a.rejected, a.turned_away) is distinct from (r.requests, r.confirmed, r.rejected, r.turned_away)`).Scan(&different)
	if err != nil {
		t.Fatal(err)
	}
	if different > 0 {
		t.Errorf("%d seconds of the activity are not as the events have them", different)
	}
	err = pool.QueryRow(t.Context(), `select count(*) from (
			select sale_id, requests, confirmed, rejected, turned_away, paid, refunded from sale_activity where second = '-infinity') a
		full join (
			select sale_id, sum(requests) as requests, sum(confirmed) as confirmed, sum(rejected) as rejected,
				sum(turned_away) as turned_away, sum(paid) as paid, sum(refunded) as refunded
			from sale_activity where second > '-infinity' group by sale_id) s using (sale_id)
		where (a.requests, a.confirmed, a.rejected, a.turned_away, a.paid, a.refunded)
			is distinct from (s.requests, s.confirmed, s.rejected, s.turned_away, s.paid, s.refunded)`).Scan(&different)
	if err != nil {
		t.Fatal(err)
	}
	if different > 0 {
		t.Errorf("%d sums of the activity are not those of its seconds", different)
	}
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// The read models are rebuilt again and again while two nodes sell, pay, cancel, refund
// and expire, and somebody damages rows. What the last rebuild leaves, which begins
// after the damage and ends during the sale, is what a fresh fold has (FAULTS 22).
func TestRebuild_WhileNodesSell(t *testing.T) {
	url := postgrestest.New(t)
	nodes := []*sellingNode{startSelling(t, url), startSelling(t, url)}
	pool := nodes[0].pools.Read
	sale := nodes[0].sale(t, 700, 1500*time.Millisecond)

	selling, phase := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(selling)
		crowd(t, nodes, sale, "first-", 400)
		close(phase)
		crowd(t, nodes, sale, "second-", 500)
	}()
	var written, deleted int64
	count := func(done map[Model]Rebuilt) {
		for _, r := range done {
			written += r.Written
			deleted += r.Deleted
		}
	}
	damaging := true
	for i := 0; damaging; i++ {
		for _, damage := range []string{
			"delete from orders where random() < 0.1",
			"update orders set version = 99, status = 'paid', user_id = 'thief' where random() < 0.1",
			"update orders set request_id = gen_random_uuid() where random() < 0.05",
			"insert into orders select 'XXX-' || o.order_id, version, request_id, sale_id, user_id, quantity, amount, currency, status, pay_by, created_at from orders o where random() < 0.05 on conflict do nothing",
			"delete from purchase_results where random() < 0.1",
			"update purchase_results set status = 'failed', reason = 'sold_out' where random() < 0.1",
			"update sale_activity set confirmed = confirmed + 1",
			"insert into sale_activity values (7, now(), 1, 1, 1, 1, 1, 1) on conflict do nothing",
		} {
			exec(t, pool, damage)
		}
		count(rebuilt(t, url))
		select {
		case <-phase:
			damaging = false
		default:
		}
	}
	last := rebuilt(t, url)
	count(last)
	select {
	case <-selling:
		t.Error("the sale ended before the last rebuild: it proves less than it should")
	default:
	}
	t.Logf("%d written and %d deleted; the last: %+v", written, deleted, last)
	if written == 0 || deleted == 0 {
		t.Error("nothing was repaired")
	}
	// More of them, that have nothing to repair and must break nothing.
	for over := false; !over; {
		rebuilt(t, url)
		select {
		case <-selling:
			over = true
		default:
		}
	}
	deadline := time.Now().Add(30 * time.Second)
	for pending := 1; pending > 0; time.Sleep(50 * time.Millisecond) { // expire
		if err := pool.QueryRow(t.Context(), "select count(*) from orders where status = 'pending_payment'").Scan(&pending); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d orders have not expired", pending)
		}
	}
	requireClean(t, url)
	awaitActivity(t, pool)
	requireActivity(t, pool)

	live := tables(t, pool)
	exec(t, pool, "truncate orders, purchase_results")
	exec(t, pool, "delete from sale_activity")
	fresh := rebuilt(t, url)
	if diff := cmp.Diff(tables(t, pool), live); diff != "" {
		t.Errorf("the tables differ from a fresh fold (-fresh +live):\n%s", diff)
	}
	t.Logf("from nothing: %+v", fresh)
	// The nodes go on with what was rebuilt.
	other := nodes[1].sale(t, 50, time.Minute)
	crowd(t, nodes, other, "third-", 40)
	requireClean(t, url)
	awaitActivity(t, pool)
	requireActivity(t, pool)
}

// Whatever is changed, deleted or added by hand is repaired, and nothing else written.
func TestRebuild_ByHand(t *testing.T) {
	t.Parallel()
	url := postgrestest.New(t)
	node := startSelling(t, url)
	pool := node.pools.Read
	sale := node.sale(t, 30, time.Hour)
	crowd(t, []*sellingNode{node}, sale, "buyer-", 40)
	awaitActivity(t, pool)
	want := tables(t, pool)
	for model, r := range rebuilt(t, url) {
		if r.Written+r.Deleted > 0 || r.Checked == 0 {
			t.Errorf("%s: %+v, want that all is well", model, r)
		}
	}
	const one = "(select min(order_id) from orders)"
	const first = "(select request_id from purchase_results order by request_id limit 1)"
	for _, test := range []struct {
		name, by         string
		model            Model
		written, deleted int64 // -1 for some
	}{
		{"OrderChanged", "update orders set status = 'expired', ended_at = now() where order_id = " + one, ModelOrders, 1, 0},
		{"OrderVersionTooHigh", "update orders set version = 99, status = 'x' where order_id = " + one, ModelOrders, 1, 0},
		{"OrderVersionTooLow", "update orders set version = 1 where order_id = " + one, ModelOrders, 1, 0},
		{"OrderOfAnotherSale", "update orders set sale_id = 1, user_id = 'thief' where order_id = " + one, ModelOrders, 1, 0},
		{"OrderOfAnotherRequest", "update orders set request_id = gen_random_uuid() where order_id = " + one, ModelOrders, 1, 1},
		{"OrderDeleted", "delete from orders where order_id = " + one, ModelOrders, 1, 0},
		{"OrderAdded", "insert into orders select 'ZZZ-ZZZ-ZZZ', version, request_id, sale_id, user_id, quantity, amount, currency, status, pay_by, created_at from orders where order_id = " + one, ModelOrders, 0, 1},
		{"OrderWithoutNumber", "insert into orders select '', version, request_id, sale_id, user_id, quantity, amount, currency, status, pay_by, created_at from orders where order_id = " + one, ModelOrders, 0, 1},
		{"OrdersTruncated", "truncate orders", ModelOrders, -1, 0},
		{"ResultChanged", "update purchase_results set status = 'failed', reason = 'internal', version = 9 where request_id = " + first, ModelResults, 1, 0},
		{"ResultMadeOld", "update purchase_results set decided_at = decided_at - interval '20 minutes' where request_id = " + first, ModelResults, 1, 0},
		{"ResultDeleted", "delete from purchase_results where request_id = " + first, ModelResults, 1, 0},
		{"ResultAdded", "insert into purchase_results select gen_random_uuid(), version, sale_id, user_id, quantity, status, reason, order_id, null, null, pay_by, accepted_at, decided_at from purchase_results where request_id = " + first, ModelResults, 0, 1},
		{"ResultOfNobody", "insert into purchase_results select '00000000-0000-0000-0000-000000000000', version, sale_id, user_id, quantity, status, reason, order_id, null, null, pay_by, accepted_at, decided_at from purchase_results where request_id = " + first, ModelResults, 0, 1},
		{"ResultsTruncated", "truncate purchase_results", ModelResults, -1, 0},
		{"ActivityChanged", "update sale_activity set requests = requests + 1 where second = (select min(second) from sale_activity)", ModelActivity, 1, 0},
		{"ActivityAdded", "insert into sale_activity values (1, now(), 1, 1, 1, 1, 1, 1)", ModelActivity, 0, 1},
		{"ActivityTruncated", "truncate sale_activity", ModelActivity, -1, 0},
		{"CheckpointDeleted", "delete from checkpoints where name = 'sale_activity'", ModelActivity, 0, 0},
		{"CheckpointAhead", "update checkpoints set transaction_id = 1 << 30 where name = 'sale_activity'", ModelActivity, 0, 0},
	} {
		exec(t, pool, test.by)
		r := rebuilt(t, url, test.model)[test.model]
		if test.written >= 0 && r.Written != test.written || test.written < 0 && r.Written == 0 || r.Deleted != test.deleted {
			t.Errorf("%s: %d written and %d deleted, want %d and %d", test.name, r.Written, r.Deleted, test.written, test.deleted)
		}
		if diff := cmp.Diff(want, tables(t, pool)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	crowd(t, []*sellingNode{node}, node.sale(t, 5, time.Hour), "later-", 5)
	awaitActivity(t, pool)
	requireActivity(t, pool)
	requireClean(t, url)
}

// A result that is past its time is left alone, or corrected, but not brought back.
func TestRebuild_OldResults(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	url := pool.Config().ConnString()
	id := uuid.Must(uuid.NewV7())
	decide(t, pool, eventstore.New(), id, domain.PurchaseRejected{Reason: domain.ReasonSoldOut})
	exec(t, pool, `do $$ begin
		set local session_replication_role = replica;
		update events set recorded_at = recorded_at - interval '31 minutes';
	end $$`)
	if r := rebuilt(t, url, ModelResults)[ModelResults]; r.Written+r.Deleted != 0 {
		t.Errorf("%+v: an old result came back", r)
	}
}

// A rebuild on an empty store ends (FAULTS 23).
func TestRebuild_EmptyStore(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	begun := time.Now()
	for model, r := range rebuilt(t, pool.Config().ConnString()) {
		if r.Checked+r.Written+r.Deleted != 0 || !r.Done {
			t.Errorf("%s: %+v", model, r)
		}
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

// A rebuild is cut off in each model; the next one does the rest.
func TestRebuild_CutOff(t *testing.T) {
	t.Parallel()
	url := postgrestest.New(t)
	node := startSelling(t, url)
	pool := node.pools.Read
	crowd(t, []*sellingNode{node}, node.sale(t, 30, time.Hour), "buyer-", 40)
	awaitActivity(t, pool)
	want := tables(t, pool)
	for _, model := range Models {
		exec(t, pool, "truncate orders, purchase_results")
		exec(t, pool, "update sale_activity set requests = requests + 1")
		conn := connectTo(t, url)
		told := 0
		err := Rebuild(t.Context(), conn, []Model{model}, func(r Rebuilt) {
			if told++; told == 1 && !r.Done {
				exec(t, pool, "select pg_terminate_backend($1)", conn.PgConn().PID())
			}
		})
		if err == nil {
			t.Errorf("%s: the rebuild was not cut off", model)
		}
		rebuilt(t, url)
		if diff := cmp.Diff(want, tables(t, pool)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", model, diff)
		}
	}
}

// A second rebuild is refused while one runs.
func TestRebuild_TwoAtOnce(t *testing.T) {
	t.Parallel()
	url := postgrestest.New(t)
	running, refused := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var first sync.WaitGroup
	first.Go(func() {
		err := Rebuild(t.Context(), connectTo(t, url), Models, func(Rebuilt) {
			once.Do(func() { close(running) })
			<-refused
		})
		if err != nil {
			t.Errorf("the first: %v", err)
		}
	})
	<-running
	if err := Rebuild(t.Context(), connectTo(t, url), Models, func(Rebuilt) {}); !errors.Is(err, ErrRebuilding) {
		t.Errorf("the second: got %v, want ErrRebuilding", err)
	}
	close(refused)
	first.Wait()
	rebuilt(t, url)
}

// Who holds the lock of a purchase is waited for without holding up anybody else, and
// what it appends meanwhile is not lost.
func TestRebuild_WaitsForThePurchase(t *testing.T) {
	t.Parallel()
	url := postgrestest.New(t)
	node := startSelling(t, url)
	pool := node.pools.Read
	crowd(t, []*sellingNode{node}, node.sale(t, 4, time.Hour), "buyer-", 4)
	var id uuid.UUID
	var orderID string
	if err := pool.QueryRow(t.Context(), "select request_id, order_id from orders where status = 'pending_payment'").Scan(&id, &orderID); err != nil {
		t.Fatal(err)
	}
	exec(t, pool, "update orders set version = 99, status = 'wrong'")
	holder := connectTo(t, url)
	if _, err := holder.Exec(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), "select pg_advisory_xact_lock($1::integer, uuid_hash($2))", eventstore.PurchaseLockClass, id); err != nil {
		t.Fatal(err)
	}
	var repair sync.WaitGroup
	repair.Go(func() {
		if err := Rebuild(t.Context(), connectTo(t, url), []Model{ModelOrders}, func(Rebuilt) {}); err != nil {
			t.Errorf("rebuild: %v", err)
		}
	})
	deadline := time.Now().Add(20 * time.Second)
	for wrong := 0; wrong != 1; time.Sleep(10 * time.Millisecond) { // all others are repaired
		if err := pool.QueryRow(t.Context(), "select count(*) from orders where status = 'wrong'").Scan(&wrong); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d orders are still wrong", wrong)
		}
	}
	var paid sync.WaitGroup
	paid.Go(func() { // waits in front of the rebuild, whose tries do not queue
		if err := node.orders.Pay(t.Context(), orderID, "pay", nil, nil); err != nil {
			t.Errorf("pay: %v", err)
		}
	})
	time.Sleep(100 * time.Millisecond)
	if _, err := holder.Exec(t.Context(), "rollback"); err != nil {
		t.Fatal(err)
	}
	paid.Wait()
	repair.Wait()
	requireClean(t, url)
}
