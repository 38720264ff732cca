package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime"
	"time"

	"seckill/http"
	"seckill/migrations"
	"seckill/postgres"
	"seckill/projections"
)

// drainTime is how long a stopping node goes on to answer: behind a proxy, most
// connections are closed with an answer by then.
const drainTime = time.Second

// shutdownGrace is how long a stopping node may take to answer what it accepted.
const shutdownGrace = 10 * time.Second

// heapSlack is how much more than twice the live heap may be allocated before the
// garbage is collected. The live heap of a node without subscribers is small, so
// that Go would collect many times a second; this saves 6 % of all CPU time under
// load. It is never touched, so it takes no memory itself.
const heapSlack = 24 << 20

// ServeCmd serves the API and the page.
type ServeCmd struct {
	DatabaseURL   string `env:"DATABASE_URL" help:"The database. Without it a private Postgres server is started."`
	MigrateURL    string `env:"SECKILL_MIGRATE_URL" help:"The same database by the role that owns it, to bring its schema up to date; where DATABASE_URL has the role of the service."`
	Listen        string `env:"SECKILL_LISTEN" default:"127.0.0.1:8080" help:"Where to listen."`
	DataDir       string `env:"SECKILL_DATA_DIR" type:"path" help:"Where the private server keeps its data (default: under the user's cache directory; for root /var/lib/seckill)."`
	Auth          string `env:"SECKILL_AUTH" default:"trust" enum:"trust,jwt" help:"Who may do what. trust: the caller names the buyer and may do everything; jwt: tokens say who calls."`
	TrustEveryone bool   `name:"trust-everyone-who-can-connect" env:"SECKILL_TRUST_EVERYONE_WHO_CAN_CONNECT" help:"Allow SECKILL_AUTH=trust on an address that others can reach."`
	TokenSettings
	MaxBatch              int            `env:"SECKILL_MAX_BATCH" default:"500" help:"The most purchases in one transaction. 1 also turns draining off: the naive way, for comparison."`
	ResultsRetention      time.Duration  `env:"SECKILL_RESULTS_RETENTION" default:"30m" help:"How long results are rows, 10m to 24h. After that they are folded from the events, which is slower."`
	CORSOrigins           []string       `name:"cors-origins" env:"SECKILL_CORS_ORIGINS" sep:"," help:"Origins of pages elsewhere that may use the API, such as https://shop.example; separated by commas."`
	TrustedProxies        []netip.Prefix `env:"SECKILL_TRUSTED_PROXIES" sep:"," placeholder:"NETWORK" help:"Networks of the proxies in front, such as 10.0.0.0/8, whose X-Forwarded-For says who the client is; separated by commas."`
	ConnectionsPerAddress int            `env:"SECKILL_CONNECTIONS_PER_ADDRESS" default:"1000" help:"How many waiting connections one client address may have; 0 for any number. This machine's own addresses are not bounded."`
	ConnectionsPerUser    int            `env:"SECKILL_CONNECTIONS_PER_USER" default:"128" help:"How many connections may wait for one user's purchases; 0 for any number."`
	IdleConnections       int            `env:"SECKILL_IDLE_CONNECTIONS" default:"20000" help:"How many connections may be idle; of more the one that has been for longest is closed. 0 for any number."`
	SubmitsPerUser        float64        `env:"SECKILL_SUBMITS_PER_USER" default:"5" help:"How many purchases a second one user may ask for, where it is known who calls; 0 for any number."`
	SubmitsPerAddress     float64        `env:"SECKILL_SUBMITS_PER_ADDRESS" default:"100" help:"How many purchases a second may come from one client address; 0 for any number. This machine's own addresses are not bounded."`
	PollsPerUser          float64        `env:"SECKILL_POLLS_PER_USER" default:"2" help:"How often a second one user may ask for results, where it is known who calls; 0 for any number."`
	PollsPerAddress       float64        `env:"SECKILL_POLLS_PER_ADDRESS" default:"500" help:"How often a second results may be asked for from one client address; 0 for any number."`
	Entrance              float64        `env:"SECKILL_ENTRANCE" default:"0" help:"How many purchases a second all nodes together take in; each takes its share. 0 for as many as can be decided."`
	TLSCert               string         `name:"tls-cert" env:"SECKILL_TLS_CERT" type:"path" help:"A certificate chain in PEM: serve HTTPS, and HTTP/2. The files are read again when they change."`
	TLSKey                string         `name:"tls-key" env:"SECKILL_TLS_KEY" type:"path" help:"The certificate's key in PEM."`
	Demo                  bool           `help:"Create a demo sale when there is none."`
}

// Validate implements kong's validation.
func (c *ServeCmd) Validate() error {
	if c.MaxBatch < 1 || c.MaxBatch > 10_000 {
		return errors.New("SECKILL_MAX_BATCH must be 1 to 10000")
	}
	for _, origin := range c.CORSOrigins {
		if err := http.CheckOrigin(origin); err != nil {
			return fmt.Errorf("SECKILL_CORS_ORIGINS: %w", err)
		}
	}
	if c.ConnectionsPerAddress < 0 || c.ConnectionsPerUser < 0 || c.IdleConnections < 0 {
		return errors.New("SECKILL_CONNECTIONS_PER_ADDRESS, SECKILL_CONNECTIONS_PER_USER and SECKILL_IDLE_CONNECTIONS must not be negative")
	}
	for _, limit := range []float64{c.SubmitsPerUser, c.SubmitsPerAddress, c.PollsPerUser, c.PollsPerAddress, c.Entrance} {
		if !(limit >= 0 && limit <= 1e6) {
			return errors.New("limits per second must be 0 to 1000000")
		}
	}
	if c.MigrateURL != "" && c.DatabaseURL == "" {
		return errors.New("SECKILL_MIGRATE_URL belongs to DATABASE_URL")
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return errors.New("SECKILL_TLS_CERT and SECKILL_TLS_KEY belong together")
	}
	if c.ResultsRetention < projections.MinResultsRetention || c.ResultsRetention > projections.MaxResultsRetention {
		return errors.New("SECKILL_RESULTS_RETENTION must be 10m to 24h")
	}
	return nil
}

// Run serves until the context ends.
func (c *ServeCmd) Run(ctx context.Context) (err error) {
	slack := make([]byte, heapSlack)
	defer runtime.KeepAlive(slack)
	logger := slog.New(http.LogHandler{Handler: newDampedHandler(slog.NewTextHandler(os.Stderr, nil), time.Now)})
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer listener.Close()

	certificate, err := c.certificate(logger)
	if err != nil {
		return err
	}
	verifier, err := c.verifier(ctx, listener, logger)
	if err != nil {
		return err
	}
	databaseURL := c.DatabaseURL
	if databaseURL == "" {
		var private *postgres.Embedded
		if ctx, private, err = privatePostgres(ctx, c.DataDir, logger); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, private.Stop()) }()
		databaseURL = private.URL()
	}
	if err := c.migrate(ctx, databaseURL); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	node, err := newNode(ctx, nodeConfig{
		certificate: certificate,
		connections: http.Connections{Idle: c.IdleConnections, PerAddress: c.ConnectionsPerAddress, PerUser: c.ConnectionsPerUser},
		databaseURL: databaseURL,
		logger:      logger,
		maxBatch:    c.MaxBatch,
		origins:     c.CORSOrigins,
		proxies:     c.TrustedProxies,
		rateLimits: http.RateLimits{
			SubmitsPerUser: c.SubmitsPerUser, SubmitsPerAddress: c.SubmitsPerAddress,
			PollsPerUser: c.PollsPerUser, PollsPerAddress: c.PollsPerAddress,
			Entrance: c.Entrance,
		},
		resultsRetention: c.ResultsRetention,
		secret:           os.Getenv("SECKILL_SECRET"),
		verifier:         verifier,
	})
	if err != nil {
		return err
	}
	demo := demoSale{}
	if c.Demo {
		if demo, err = ensureDemoSale(ctx, node); err != nil {
			return errors.Join(err, node.stop(ctx))
		}
	}
	greet(os.Stdout, listener.Addr().String(), c, demo)
	return errors.Join(node.serve(ctx, listener), causeOf(ctx))
}

// migrate brings the schema up to date, by the role that owns it where that is given.
// In any case the service's database has to be right: the other may be one beside it.
func (c *ServeCmd) migrate(ctx context.Context, databaseURL string) error {
	if c.MigrateURL != "" {
		if err := migrations.Up(ctx, c.MigrateURL); err != nil {
			return fmt.Errorf("by SECKILL_MIGRATE_URL: %w", err)
		}
	}
	return migrations.Ensure(ctx, databaseURL)
}

// certificate is shown to clients, or nil for plain HTTP.
func (c *ServeCmd) certificate(logger *slog.Logger) (*http.Certificate, error) {
	if c.TLSCert == "" {
		return nil, nil //nolint:nilnil // which is plain HTTP
	}
	return http.LoadCertificate(c.TLSCert, c.TLSKey, logger)
}

// greet says what to open and try.
func greet(w io.Writer, address string, c *ServeCmd, demo demoSale) {
	base := "http://" + address
	if c.TLSCert != "" {
		base = "https://" + address
	}
	bearer := ""
	if c.Auth == authTrust {
		fmt.Fprintln(w, "WARNING: trust mode. Every caller may buy in any name and act as the operator. For trying out only.")
	} else {
		fmt.Fprintln(w, "Callers need a token; for trying out: TOKEN=$(seckill token --user 42)")
		bearer = ` -H "Authorization: Bearer $TOKEN"`
	}
	if c.DatabaseURL == "" {
		fmt.Fprintln(w, "Using a private Postgres; set DATABASE_URL to use another.")
	}
	fmt.Fprintf(w, "\n  The page     %[1]s/\n  Operator     %[1]s/operator/\n  API docs     %[1]s/docs/\n", base)
	if demo.saleID != 0 {
		fmt.Fprintf(w, `
  Buy (sale %[2]d sells goods %[3]d):
    curl -s -X POST %[1]s/sales/%[2]d/purchases%[4]s -H 'Content-Type: application/json' -d '{"userId":"42","quantity":1}'
  Then, with the requestId of the answer:
    curl -s '%[1]s/purchases/REQUEST_ID?wait=30s'%[4]s
    curl -N %[1]s/purchases/REQUEST_ID/events%[4]s
`, base, demo.saleID, demo.goodsID, bearer)
	}
	fmt.Fprintln(w, "\nStop with Ctrl-C.")
}
