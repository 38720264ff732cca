package purchasing_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/postgres"
	"seckill/postgres/postgrestest"
	"seckill/projections"
	"seckill/purchasing"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// node is the write side of one process, for tests.
type node struct {
	backlog *purchasing.Backlog
	board   *purchasing.Board
	door    *purchasing.Door
	intake  *purchasing.Intake
	orders  *purchasing.Orders
	pools   *postgres.Pools
	river   *purchasing.RiverClient
	sales   *purchasing.Sales
	store   *eventstore.Store
	url     string
}

// newNode returns a write side that takes purchases in; work starts its workers.
func newNode(t *testing.T, url string, maxBatch int) *node {
	t.Helper()
	pools, err := postgres.OpenPools(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pools.Close)
	logger := slog.New(slog.DiscardHandler)
	n := &node{pools: pools, store: eventstore.New(projections.Results{Retention: projections.ResultsRetention}, projections.Orders{}), url: url}
	metrics := purchasing.NewMetrics(prometheus.NewRegistry())
	worker := purchasing.NewDecideWorker(pools.Decide, n.store, maxBatch, metrics, logger)
	if n.river, err = purchasing.NewRiver(t.Context(), pools.River, "test-"+rand.Text(), worker, logger); err != nil {
		t.Fatal(err)
	}
	n.board = purchasing.NewBoard(pools.Read, logger)
	n.door = purchasing.NewDoor(pools.Intake, n.store, logger)
	n.backlog = purchasing.NewBacklog(pools.Read, logger)
	n.intake = purchasing.NewIntake(purchasing.IntakeConfig{
		Backlog:  n.backlog,
		Board:    n.board,
		Door:     n.door,
		Logger:   logger,
		MaxBatch: maxBatch,
		Metrics:  metrics,
		Pool:     pools.Intake,
		River:    n.river,
		Store:    n.store,
	})
	t.Cleanup(n.intake.Close)
	n.orders = purchasing.NewOrders(pools.Orders, n.store)
	n.sales = purchasing.NewSales(pools.Intake, n.store)
	return n
}

// work starts the workers and upkeep.
func (n *node) work(t *testing.T) {
	t.Helper()
	upkeep, err := purchasing.NewUpkeep(t.Context(), n.pools.River.Config().ConnConfig, n.river, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.river.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		upkeep.Run(ctx)
	}()
	t.Cleanup(func() {
		stopCtx, stop := context.WithTimeout(context.Background(), 15*time.Second)
		defer stop()
		if err := n.river.Stop(stopCtx); err != nil {
			t.Errorf("stop the queue: %v", err)
		}
		cancel()
		<-stopped
	})
}

func (n *node) sale(t *testing.T, stock int64, perUser int) int64 {
	t.Helper()
	return n.saleToPayIn(t, stock, perUser, 15*time.Minute)
}

// saleToPayIn schedules a sale whose orders have to be paid within a time.
func (n *node) saleToPayIn(t *testing.T, stock int64, perUser int, timeout time.Duration) int64 {
	t.Helper()
	id, err := n.sales.Schedule(t.Context(), domain.SaleScheduled{
		Name: "test", Currency: "CNY", Price: 100, Stock: stock, PerUserLimit: perUser,
		ClosesAt: time.Now().Add(time.Hour), PaymentTimeout: domain.Duration(timeout),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (n *node) submit(t *testing.T, saleID int64, user string, quantity int) uuid.UUID {
	t.Helper()
	accepted, err := n.intake.Submit(t.Context(), purchasing.Request{SaleID: saleID, UserID: user, Quantity: quantity})
	if err != nil {
		t.Fatal(err)
	}
	return accepted.RequestID
}

// decided waits until the request is decided, and returns its outcome.
func (n *node) decided(t *testing.T, id uuid.UUID, within time.Duration) projections.Purchase {
	t.Helper()
	reader := projections.NewPurchases(n.store)
	var purchase projections.Purchase
	eventually(t, within, "request "+id.String()+" is decided", func() bool {
		var err error
		if purchase, err = reader.Get(t.Context(), n.pools.Read, id); err != nil {
			t.Fatal(err)
		}
		return purchase.Decided()
	})
	return purchase
}

func eventually(t *testing.T, within time.Duration, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (n *node) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := n.pools.Read.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// value returns the one value of a query.
func value[T any](t *testing.T, n *node, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := n.pools.Read.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// lockSale holds the lock of a sale until release is called.
func lockSale(t *testing.T, n *node, saleID int64) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), n.url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "select from sales where sale_id = $1 for no key update", saleID); err != nil {
		t.Fatal(err)
	}
	return func() { _ = conn.Close(context.Background()) }
}
