package http

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/eventstore"
	"seckill/http/auth"
	"seckill/projections"
	"seckill/purchasing"
)

const (
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 2 * time.Minute
	maxBodyBytes      = 16 << 10
	// answerTimeout is how long a request may take from its header to the last byte of
	// the answer, the longest wait included. Streams have a deadline for each write.
	answerTimeout   = maxWait + 15*time.Second
	bodyReadTimeout = 5 * time.Second
	// maxStreams is how many requests one connection of HTTP/2 may have under way. It
	// is also what bounds those that a client cancels at once (rapid reset): no more
	// handlers run, and one that has four times as many waiting is cut off.
	maxStreams = 100
	// pingTimeout is after how long a connection of HTTP/2 that does not answer, or takes
	// nothing, is closed.
	pingTimeout = 10 * time.Second
)

// Config is what a Server is made of.
type Config struct {
	// DrainTime is how long a server that stops goes on to answer.
	DrainTime time.Duration
	// RateLimits bound how often callers may ask.
	RateLimits RateLimits
	// Certificate is shown to clients over TLS; nil is plain HTTP.
	Certificate *Certificate
	// Connections bounds those who wait and watch.
	Connections Connections
	Hub         *Hub
	Intake      *purchasing.Intake
	Listener    *eventstore.Listener
	Logger      *slog.Logger
	Orders      *purchasing.Orders
	Origins     []string // of pages elsewhere that may use the API
	Purchases   *projections.Purchases
	Read        *pgxpool.Pool
	SaleHub     *SaleHub
	Sales       *purchasing.Sales
	Secret      []byte // signs the request IDs of refusals, and cursors
	Store       *eventstore.Store
	// Verifier says who a caller is; nil is trust mode.
	Verifier *auth.Verifier
	// TrustedProxies are the networks whose X-Forwarded-For says who the client is.
	TrustedProxies []netip.Prefix
	Version        string
}

// Server answers the API and the pages.
type Server struct {
	Config

	api         huma.API
	connections *connections
	goods       *goodsCatalogue
	handler     http.Handler
	logger      *slog.Logger
	rateLimits  *rateLimits
	server      *http.Server
	sockets     sync.WaitGroup // net/http does not know of them any more, nor of streams
	streams     *streams
	tickets     auth.Tickets
	stopping    chan struct{}
	stopOnce    sync.Once
}

// NewServer returns a server that is not serving yet.
func NewServer(config Config) (*Server, error) {
	s := &Server{
		Config:      config,
		connections: newConnections(config.Connections),
		goods:       newGoodsCatalogue(config.Read),
		logger:      config.Logger,
		stopping:    make(chan struct{}),
		rateLimits:  newRateLimits(config.RateLimits),
		tickets:     auth.NewTickets(config.Secret),
	}
	s.streams = newStreams(s.resume)
	mux := http.NewServeMux()
	s.api = humago.New(mux, apiConfig(config.Version))
	s.api.UseMiddleware(s.authorize)
	s.registerMe()
	s.registerPurchases()
	s.registerEvents()
	s.registerSockets()
	s.registerSales()
	s.registerSaleEvents()
	s.registerOrders()
	s.registerOrderCommands()
	s.registerRequests()
	s.registerSeckill(mux)
	s.registerActivity()
	s.registerFeed()
	s.registerHealth()
	s.registerMetrics()
	registerDocs(mux)
	if err := s.registerPages(mux); err != nil {
		return nil, err
	}
	registerProblems(mux)
	s.handler = s.answering(behindProxies(config.TrustedProxies, allowOrigins(config.Origins, s.identify(mux))))
	s.server = &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    hardMaxHeaderBytes,
		ConnContext:       withPeerAddress,
		ConnState:         newIdlers(s.connections.tooManyIdle).changed,
		ErrorLog:          slog.NewLogLogger(config.Logger.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams,
			PingTimeout:          pingTimeout,
			SendPingTimeout:      streamHeartbeat,
			WriteByteTimeout:     pingTimeout,
		},
	}
	if config.Certificate != nil {
		s.server.TLSConfig = config.Certificate.config()
	}
	return s, nil
}

// Handler answers the API and the pages; for tests and for embedding.
func (s *Server) Handler() http.Handler { return s.handler }

// OpenAPI returns the API's description.
func (s *Server) OpenAPI() *huma.OpenAPI { return s.api.OpenAPI() }

// Serve answers requests until Shutdown, which it then returns nil for.
func (s *Server) Serve(listener net.Listener) error {
	serve := s.server.Serve
	if s.Certificate != nil {
		serve = func(listener net.Listener) error { return s.server.ServeTLS(listener, "", "") }
	}
	if err := serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// Shutdown lets whoever waits for a result go (they come back to another node), answers
// for a moment longer what comes on connections that are open, and closes them with
// that: a request that is sent into a connection while it is closed is lost. It returns
// when all is answered or the context ends.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stopOnce.Do(func() {
		close(s.stopping)
		s.streams.stop()
	})
	select {
	case <-time.After(s.DrainTime):
	case <-ctx.Done():
	}
	s.streams.closeIdle()
	if err := s.server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("shut down in time: %w", err), s.server.Close())
	}
	closed := make(chan struct{})
	go func() {
		s.sockets.Wait()
		s.streams.serving.Wait()
		close(closed)
	}()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close the streams and sockets in time: %w", ctx.Err())
	}
}

// huma keeps these for all APIs of a program, so they are set before there is one.
func init() {
	huma.NewError = newHumaError
	huma.ValidateStrictCasing = true
}

func apiConfig(version string) huma.Config {
	config := huma.DefaultConfig("Seckill", version)
	config.Info.Description = apiDescription
	config.Components.SecuritySchemes = securitySchemes
	config.CreateHooks = nil // no $schema in answers
	config.OnAddOperation = []huma.AddOpFunc{showExamples}
	config.DocsPath = "" // huma's page loads from a CDN; ours does not
	config.SchemasPath = ""
	config.Formats = map[string]huma.Format{"application/json": strictJSON, "json": strictJSON}
	config.Tags = []*huma.Tag{
		{Name: "purchases", Description: "Press the button, and learn what came of it."},
		{Name: "sales", Description: "What is for sale, and the operator's commands."},
		{Name: "orders", Description: "What was won, and what becomes of it."},
		{Name: "seckill", Description: "The envelope contract: submit, then poll."},
		{Name: "feed", Description: "The whole history, for other systems."},
		{Name: "health", Description: "Is the service there?"},
	}
	return config
}

const apiDescription = `Seckill (秒杀) sells a fixed stock to far more people than can have one, in seconds.

1. **POST /sales/{saleId}/purchases** answers **202** at once with a request ID. 202 means durable: the request will be decided.
2. Learn the result by **SSE** (` + "`…/events`" + `), **long poll** (` + "`?wait=30s`" + `) or a plain **GET** of ` + "`/purchases/{requestId}`" + `.

Errors are ` + "`application/problem+json`" + ` (RFC 9457) with a stable ` + "`code`" + `. 503 and 429 answers carry Retry-After.
In trust mode the caller names the buyer (` + "`userId`" + `); else the token does.`

// everythingElse is what no other pattern matches.
const everythingElse = "/"

// registerProblems makes 404 and 405 answers problems.
func registerProblems(mux *http.ServeMux) {
	mux.HandleFunc(everythingElse, func(w http.ResponseWriter, r *http.Request) {
		var allowed []string
		for _, method := range []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodPatch, http.MethodPost, http.MethodPut} {
			probe := r.Clone(r.Context())
			probe.Method = method
			if _, pattern := mux.Handler(probe); pattern != everythingElse {
				allowed = append(allowed, method)
			}
		}
		if len(allowed) == 0 {
			problem("not_found").write(w)
			return
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		problem("method_not_allowed").write(w)
	})
}
