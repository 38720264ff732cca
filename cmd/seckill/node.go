package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
	"seckill/http"
	"seckill/http/auth"
	"seckill/postgres"
	"seckill/projections"
	"seckill/purchasing"
	"seckill/queries"
)

// node is one process of the service: everything that serves one database
// together with the other nodes.
type node struct {
	intake   *purchasing.Intake
	logger   *slog.Logger
	pools    *postgres.Pools
	river    *purchasing.RiverClient
	sales    *purchasing.Sales
	server   *http.Server
	stopLoop context.CancelFunc
	loops    sync.WaitGroup
}

type nodeConfig struct {
	certificate      *http.Certificate // nil: plain HTTP
	connections      http.Connections
	databaseURL      string
	logger           *slog.Logger
	maxBatch         int
	origins          []string       // of pages elsewhere
	proxies          []netip.Prefix // that are trusted
	rateLimits       http.RateLimits
	resultsRetention time.Duration
	secret           string
	verifier         *auth.Verifier // nil: trust
}

// newNode connects and starts what works in the background. It does not serve yet.
func newNode(ctx context.Context, config nodeConfig) (*node, error) {
	pools, err := postgres.OpenPools(ctx, config.databaseURL)
	if err != nil {
		return nil, err
	}
	n := &node{logger: config.logger, pools: pools}
	if err := n.start(ctx, config); err != nil {
		return nil, errors.Join(err, n.stop(ctx))
	}
	return n, nil
}

func (n *node) start(ctx context.Context, config nodeConfig) error {
	logger := config.logger
	undurable, err := postgres.Undurable(ctx, n.pools.Read)
	if err != nil {
		return err
	}
	if len(undurable) > 0 {
		logger.Warn("the database may lose accepted purchases in a crash: these settings are off", "settings", undurable)
	}
	secret, err := secretOf(ctx, n.pools, config.secret)
	if err != nil {
		return err
	}
	store := eventstore.New(projections.Results{Retention: config.resultsRetention}, projections.Orders{})
	registry := newRegistry()
	metrics, edge := purchasing.NewMetrics(registry), http.NewMetrics(registry)
	worker := purchasing.NewDecideWorker(n.pools.Decide, store, config.maxBatch, metrics, logger)
	n.river, err = purchasing.NewRiver(ctx, n.pools.River, clientID(), worker, slog.New(quietHandler{logger.Handler()}))
	if err != nil {
		return err
	}
	upkeep, err := purchasing.NewUpkeep(ctx, n.pools.River.Config().ConnConfig, n.river, logger)
	if err != nil {
		return err
	}
	board := purchasing.NewBoard(n.pools.Read, logger)
	backlog := purchasing.NewBacklog(n.pools.Read, logger)
	door := purchasing.NewDoor(n.pools.Intake, store, logger)
	purchases := projections.NewPurchases(store)
	hub := http.NewHub(n.pools.Read, purchases, edge, logger)
	saleHub := http.NewSaleHub(n.pools.Read, logger)
	listener := eventstore.NewListener(n.pools.Read, store, eventstore.Followers{hub, board, saleHub}, logger)
	n.intake = purchasing.NewIntake(purchasing.IntakeConfig{
		Backlog:  backlog,
		Board:    board,
		Door:     door,
		Logger:   logger,
		MaxBatch: config.maxBatch,
		Metrics:  metrics,
		Pool:     n.pools.Intake,
		River:    n.river,
		Store:    store,
	})
	registerNode(registry, backlog, listener, n.pools)
	n.sales = purchasing.NewSales(n.pools.Intake, store)
	rateLimits := config.rateLimits
	rateLimits.Nodes = upkeep.Nodes
	n.server, err = http.NewServer(http.Config{
		Certificate:    config.certificate,
		Connections:    config.connections,
		DrainTime:      drainTime,
		Hub:            hub,
		Intake:         n.intake,
		Listener:       listener,
		Logger:         logger,
		Orders:         purchasing.NewOrders(n.pools.Orders, store),
		Origins:        config.origins,
		Purchases:      purchases,
		Read:           n.pools.Read,
		SaleHub:        saleHub,
		Sales:          n.sales,
		Secret:         secret,
		Store:          store,
		RateLimits:     rateLimits,
		TrustedProxies: config.proxies,
		Verifier:       config.verifier,
		Version:        version,
	})
	if err != nil {
		return err
	}

	// What is accepted must be decided before the end: the loops outlive the
	// context that ends the serving.
	loopCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	n.stopLoop = stop
	loops := []func(context.Context){
		backlog.Run,
		board.Run,
		door.Run,
		purchasing.NewExpiry(n.pools.Expiry, store, logger).Run,
		hub.Run,
		saleHub.Run,
		func(ctx context.Context) { _ = listener.Run(ctx) }, // it only ends with the context
		func(ctx context.Context) { projections.KeepActivity(ctx, n.pools.Read, logger) },
		func(ctx context.Context) { projections.KeepResults(ctx, n.pools.Read, config.resultsRetention, logger) },
		upkeep.Run,
	}
	if config.certificate != nil {
		loops = append(loops, config.certificate.Run)
	}
	for _, loop := range loops {
		n.loops.Go(func() { loop(loopCtx) })
	}
	if err := n.river.Start(loopCtx); err != nil {
		return fmt.Errorf("start the queue: %w", err)
	}
	return nil
}

// serve answers requests until the context ends, then stops the node.
func (n *node) serve(ctx context.Context, listener net.Listener) error {
	served := make(chan error, 1)
	go func() { served <- n.server.Serve(listener) }()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		n.logger.Info("stopping")
	}
	return errors.Join(err, n.stop(ctx))
}

// stop stops the node from the edge inwards: no new requests, then what was taken
// in, then the workers, then the rest.
func (n *node) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	var errs []error
	if n.server != nil {
		errs = append(errs, n.server.Shutdown(ctx))
	}
	if n.intake != nil {
		n.intake.Close()
	}
	if n.stopLoop != nil {
		if err := n.river.Stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop the queue: %w", err))
		}
		n.stopLoop()
	}
	n.loops.Wait()
	n.pools.Close()
	return errors.Join(errs...)
}

// clientID names this process among the workers, for as long as it lives.
func clientID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	return fmt.Sprintf("%.40s-%d-%s", host, os.Getpid(), rand.Text()[:8])
}

// secretOf returns the given secret, or the one that is kept in the database.
func secretOf(ctx context.Context, pools *postgres.Pools, given string) ([]byte, error) {
	if given != "" {
		return []byte(given), nil
	}
	fresh := make([]byte, 32)
	_, _ = rand.Read(fresh) // it never fails
	for {
		secret, err := queries.New(pools.Read).GetOrCreateSecret(ctx, queries.GetOrCreateSecretParams{Name: "signing", Value: fresh})
		if errors.Is(err, pgx.ErrNoRows) {
			continue // another node is just creating it
		}
		if err != nil {
			return nil, fmt.Errorf("read the signing secret: %w", err)
		}
		return secret, nil
	}
}

// quietHandler keeps the queue's routine out of the log: River reports its start
// and its statistics at the level of information.
type quietHandler struct{ slog.Handler }

// Enabled implements slog.Handler.
func (quietHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
