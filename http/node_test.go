package http_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/http"
	"seckill/http/auth"
	"seckill/postgres"
	"seckill/postgres/postgrestest"
	"seckill/projections"
	"seckill/purchasing"
	"seckill/queries"
)

// soon is how long what should be at once may take on a busy machine.
const soon = 10 * time.Second

// secret signs the refusals of all nodes.
var secret = []byte("the secret of the tests")

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// node is one process of the service as the program composes it, and a client of
// its API.
type node struct {
	*client

	backlog *purchasing.Backlog
	hub     *http.Hub
	intake  *purchasing.Intake
	pools   *postgres.Pools
	saleHub *http.SaleHub
	sales   *purchasing.Sales
	server  *http.Server
	store   *eventstore.Store
	url     string // of the database
}

// nodeConfig says what a node lacks.
type nodeConfig struct {
	certificate *http.Certificate
	connections http.Connections
	deaf        bool     // it hears of no commit
	idle        bool     // it decides nothing
	origins     []string // of pages elsewhere
	proxies     []netip.Prefix
	rateLimits  http.RateLimits
	tls         *tls.Config // of the client, where there is a certificate
	verifier    *auth.Verifier
}

// startNode serves a database of its own until the test ends.
func startNode(t *testing.T) *node {
	t.Helper()
	return startNodeOn(t, postgrestest.New(t), nodeConfig{})
}

// startIdleNode is a node that takes purchases in and decides none: what they
// become is for the test to say.
func startIdleNode(t *testing.T) *node {
	t.Helper()
	return startNodeOn(t, postgrestest.New(t), nodeConfig{idle: true})
}

func startNodeOn(t *testing.T, url string, config nodeConfig) *node {
	t.Helper()
	pools, err := postgres.OpenPools(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pools.Close)
	n := &node{pools: pools, store: eventstore.New(projections.Results{Retention: projections.ResultsRetention}, projections.Orders{}), url: url}
	registry := prometheus.NewRegistry()
	metrics := http.NewMetrics(registry)
	writes := purchasing.NewMetrics(registry)
	worker := purchasing.NewDecideWorker(pools.Decide, n.store, 500, writes, quiet())
	river, err := purchasing.NewRiver(t.Context(), pools.River, "test-"+rand.Text(), worker, quiet())
	if err != nil {
		t.Fatal(err)
	}
	upkeep, err := purchasing.NewUpkeep(t.Context(), pools.River.Config().ConnConfig, river, quiet())
	if err != nil {
		t.Fatal(err)
	}
	board := purchasing.NewBoard(pools.Read, quiet())
	reader := projections.NewPurchases(n.store)
	n.hub = http.NewHub(pools.Read, reader, metrics, quiet())
	n.saleHub = http.NewSaleHub(pools.Read, quiet())
	listener := eventstore.NewListener(pools.Read, n.store, eventstore.Followers{n.hub, board, n.saleHub}, quiet())
	n.backlog = purchasing.NewBacklog(pools.Read, quiet())
	n.intake = purchasing.NewIntake(purchasing.IntakeConfig{
		Backlog:  n.backlog,
		Board:    board,
		Door:     purchasing.NewDoor(pools.Intake, n.store, quiet()),
		Logger:   quiet(),
		MaxBatch: 500,
		Metrics:  writes,
		Pool:     pools.Intake,
		River:    river,
		Store:    n.store,
	})
	n.sales = purchasing.NewSales(pools.Intake, n.store)
	config.rateLimits.Nodes = upkeep.Nodes
	n.server, err = http.NewServer(http.Config{
		Certificate:    config.certificate,
		Connections:    config.connections,
		RateLimits:     config.rateLimits,
		TrustedProxies: config.proxies,
		Verifier:       config.verifier,
		Hub:            n.hub,
		Intake:         n.intake,
		Listener:       listener,
		Logger:         quiet(),
		Orders:         purchasing.NewOrders(pools.Orders, n.store),
		Origins:        config.origins,
		Purchases:      reader,
		Read:           pools.Read,
		SaleHub:        n.saleHub,
		Sales:          n.sales,
		Secret:         secret,
		Store:          n.store,
		Version:        "test",
	})
	if err != nil {
		t.Fatal(err)
	}

	loops := []func(context.Context){board.Run, n.hub.Run, n.saleHub.Run, upkeep.Run}
	if !config.idle {
		loops = append(loops, n.backlog.Run, func(ctx context.Context) { projections.KeepActivity(ctx, pools.Read, quiet()) })
	}
	if !config.deaf {
		loops = append(loops, func(ctx context.Context) { _ = listener.Run(ctx) }) // it only ends with the context
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	for _, loop := range loops {
		running.Go(func() { loop(ctx) })
	}
	t.Cleanup(func() { cancel(); running.Wait() })
	if !config.idle {
		if err := river.Start(ctx); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 15*time.Second)
			defer cancel()
			if err := river.Stop(ctx); err != nil {
				t.Errorf("stop the queue: %v", err)
			}
		})
	}
	t.Cleanup(n.intake.Close)
	if config.certificate != nil {
		n.client = serveTLS(t, n.server, config.tls)
	} else {
		n.client = serve(t, n.server)
	}
	return n
}

// serve serves on an address of its own until the test ends.
func serve(t *testing.T, server *http.Server) *client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, server, listener)
	return newClient(t, server, "http://"+listener.Addr().String(), (&net.Dialer{}).DialContext)
}

// serveOn serves until the test ends or it shuts the server down.
func serveOn(t *testing.T, server *http.Server, listener net.Listener) {
	t.Helper()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), soon)
		defer cancel()
		if err := errors.Join(server.Shutdown(ctx), <-served); err != nil {
			t.Errorf("stop serving: %v", err)
		}
	})
}

// sale schedules a sale that is on.
func (n *node) sale(t *testing.T, stock int64, perUserLimit int) int64 {
	t.Helper()
	return n.schedule(t, domain.SaleScheduled{Stock: stock, PerUserLimit: perUserLimit})
}

// schedule schedules a sale and fills in what the plan leaves open.
func (n *node) schedule(t *testing.T, plan domain.SaleScheduled) int64 {
	t.Helper()
	plan.Price = 199_900
	plan.Currency = "CNY"
	plan.PaymentTimeout = domain.Duration(15 * time.Minute)
	if plan.PerUserLimit == 0 {
		plan.PerUserLimit = 1
	}
	if plan.ClosesAt.IsZero() {
		plan.ClosesAt = time.Now().Add(time.Hour)
	}
	id, err := n.sales.Schedule(t.Context(), plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// saleToCome schedules a sale that is not on yet.
func (n *node) saleToCome(t *testing.T) int64 {
	t.Helper()
	return n.schedule(t, domain.SaleScheduled{Stock: 10, OpensAt: time.Now().Add(time.Hour), ClosesAt: time.Now().Add(2 * time.Hour)})
}

// pastSale schedules a sale that is over.
func (n *node) pastSale(t *testing.T) int64 {
	t.Helper()
	return n.schedule(t, domain.SaleScheduled{Stock: 10, OpensAt: time.Now().Add(-2 * time.Hour), ClosesAt: time.Now().Add(-time.Hour)})
}

// decide records the outcome of a request, as a worker does.
func (n *node) decide(t *testing.T, id uuid.UUID, outcome domain.Event) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), n.pools.Decide, func(tx pgx.Tx) error {
		events, err := n.store.ReadStream(t.Context(), tx, id)
		if err != nil {
			return err
		}
		stream := eventstore.LoadedStream(events)
		stream.Record(outcome, nil)
		var writes queries.Pipeline
		if _, err := n.store.Append(t.Context(), tx, &writes, stream); err != nil {
			return err
		}
		return writes.Send(t.Context(), tx)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// decideSilently records that a request found everything sold, and tells nobody.
func (n *node) decideSilently(t *testing.T, id uuid.UUID) {
	t.Helper()
	n.exec(t, `with requested as (select * from events where stream_id = $1 and version = 1),
		outcome as (insert into events (stream_id, version, transaction_id, sale_id, type, data)
			select stream_id, 2, current_transaction_id(), sale_id, 'PurchaseRejected', '{"reason":"sold_out"}' from requested
			returning recorded_at)
		insert into purchase_results (request_id, version, sale_id, user_id, quantity, status, reason, accepted_at, decided_at)
		select r.stream_id, 2, r.sale_id, r.data->>'userId', (r.data->>'quantity')::bigint, 'failed', 'sold_out', r.recorded_at, o.recorded_at
		from requested r, outcome o`, id)
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

// written counts everything that a request can leave behind.
func (n *node) written(t *testing.T) string {
	t.Helper()
	return value[string](t, n, `select format('%s events, %s keys, %s jobs, %s sales, %s results, %s orders, %s allowances',
		(select count(*) from events), (select count(*) from idempotency_keys), (select count(*) from river_job),
		(select count(*) from sales), (select count(*) from purchase_results), (select count(*) from orders),
		(select count(*) from allowances))`)
}

// writesNothing fails the test if what it does leaves anything in the database.
func (n *node) writesNothing(t *testing.T, do func()) {
	t.Helper()
	before := n.written(t)
	do()
	if after := n.written(t); after != before {
		t.Errorf("it wrote something:\nbefore %s\nafter  %s", before, after)
	}
}

// eventually waits for a condition that nothing announces.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(soon)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", soon, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// purchases is the address at which a sale takes purchases.
func purchases(saleID int64) string { return fmt.Sprintf("/sales/%d/purchases", saleID) }

// by is the body of a purchase of one unit.
func by(user string) string { return `{"userId":` + strconv.Quote(user) + `,"quantity":1}` }
