package main

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"seckill/eventstore"
	"seckill/postgres"
	"seckill/purchasing"
)

// newRegistry returns a registry with what describes the process.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return registry
}

// registerNode registers what is read from a node's parts whenever it is asked for.
func registerNode(registry *prometheus.Registry, backlog *purchasing.Backlog, listener *eventstore.Listener, pools *postgres.Pools) {
	gauge := func(name, help string, value func() float64) {
		registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("seckill_undecided", "Purchases that wait to be decided, on all nodes, as this node saw it last.", func() float64 {
		undecided, _ := backlog.Waiting()
		return float64(undecided)
	})
	gauge("seckill_oldest_undecided_seconds", "Age of the oldest purchase that waits to be decided, on all nodes.", func() float64 {
		_, oldest := backlog.Waiting()
		return oldest.Seconds()
	})
	gauge("seckill_listener_connected", "1 while the node hears of commits, else 0.", func() float64 {
		if listener.Listening() {
			return 1
		}
		return 0
	})
	gauge("seckill_listener_lag_seconds", "For how long the oldest commit that was heard has waited to be read.", func() float64 {
		return listener.Lag().Seconds()
	})
	for name, pool := range map[string]*pgxpool.Pool{
		"decide": pools.Decide, "expiry": pools.Expiry, "intake": pools.Intake, "orders": pools.Orders, "read": pools.Read, "river": pools.River,
	} {
		registerPool(registry, name, pool)
	}
}

// registerPool registers what one connection pool says of itself.
func registerPool(registry *prometheus.Registry, name string, pool *pgxpool.Pool) {
	labels := prometheus.Labels{"pool": name}
	registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "seckill_pool_connections_in_use", Help: "Database connections in use, by pool.", ConstLabels: labels,
		}, func() float64 { return float64(pool.Stat().AcquiredConns()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "seckill_pool_connections_max", Help: "Database connections that there may be, by pool.", ConstLabels: labels,
		}, func() float64 { return float64(pool.Stat().MaxConns()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "seckill_pool_wait_seconds_total", Help: "Time spent waiting for a connection, by pool.", ConstLabels: labels,
		}, func() float64 { return pool.Stat().EmptyAcquireWaitTime().Seconds() }),
	)
}
