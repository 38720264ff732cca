package postgres

import (
	"context"
	"fmt"
	"maps"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"
)

// Pools are the connections of one node, budgeted so that deciding, intake and
// reading cannot starve each other.
type Pools struct {
	Decide *pgxpool.Pool // one connection per lane
	Expiry *pgxpool.Pool
	Intake *pgxpool.Pool
	Orders *pgxpool.Pool
	Read   *pgxpool.Pool
	River  *pgxpool.Pool
}

// OpenPools connects to the database. Every session gets time-outs, so that a
// node that is frozen or cut off does not keep a sale locked: its transactions
// are ended by the server. It returns an error if the database cannot be reached.
func OpenPools(ctx context.Context, databaseURL string) (*Pools, error) {
	var pools Pools
	for _, budget := range []struct {
		pool     **pgxpool.Pool
		name     string
		maxConns int32
		idleFor  string // how long a transaction may wait for its node
	}{
		{&pools.Decide, "decide", 8, "5s"},
		// A node that is frozen in the middle of intake holds idempotency keys, and
		// whoever sends them again to another node waits, with all of their batch.
		{&pools.Intake, "intake", 4, "1s"},
		// Who waits for a sale in order to cancel must not keep out those who pay for
		// long, and the expiry gets its turn whatever the buyers do. Deciding waits for
		// the sales that these lock, so a frozen node is given up soon.
		{&pools.Orders, "orders", 6, "2s"},
		{&pools.Expiry, "expiry", 1, "2s"},
		{&pools.Read, "read", 6, "5s"},
		{&pools.River, "river", 6, "5s"},
	} {
		pool, err := openPool(ctx, databaseURL, budget.name, budget.maxConns, budget.idleFor)
		if err != nil {
			pools.Close()
			return nil, err
		}
		*budget.pool = pool
	}
	if err := pools.Read.Ping(ctx); err != nil {
		pools.Close()
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	return &pools, nil
}

// Close closes the connections and waits for those in use to be given back.
func (p *Pools) Close() {
	for _, pool := range []*pgxpool.Pool{p.Decide, p.Expiry, p.Intake, p.Orders, p.Read, p.River} {
		if pool != nil {
			pool.Close()
		}
	}
}

func openPool(ctx context.Context, databaseURL, name string, maxConns int32, idleFor string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("parse database URL: %w", err)
	}
	config.MaxConns = maxConns
	config.MaxConnLifetimeJitter = 10 * time.Minute // or all reconnect at once, an hour after the start
	config.ConnConfig.ConnectTimeout = 3 * time.Second
	config.ConnConfig.DialFunc = (&net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3},
	}).DialContext
	// Without this pgx would write and read every UUID as text, by way of errors: a
	// tenth of the program's work under load.
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		pgxuuid.Register(conn.TypeMap())
		return nil
	}
	maps.Copy(config.ConnConfig.RuntimeParams, map[string]string{
		"application_name":                    "seckill " + name,
		"client_connection_check_interval":    "1s",
		"idle_in_transaction_session_timeout": idleFor,
		"lock_timeout":                        "2s",
		"statement_timeout":                   "5s",
		"tcp_keepalives_idle":                 "5",
		"tcp_keepalives_interval":             "2",
		"tcp_keepalives_count":                "3",
		"timezone":                            "UTC",
	})
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the %s pool: %w", name, err)
	}
	return pool, nil
}
