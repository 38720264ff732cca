package http

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"seckill/http/auth"
)

// The ways in which somebody waits for a result, or watches a sale.
const (
	byLongPoll   = "long_poll"
	bySSE        = "sse"
	bySaleEvents = "sale_events"
	bySocket     = "websocket"
)

// Metrics are what the edge of a node measures. docs/operations.md says what each
// means.
type Metrics struct {
	registry    *prometheus.Registry
	recheck     prometheus.Histogram
	refused     *prometheus.CounterVec // by kind
	subscribers *prometheus.GaugeVec   // by kind
	told        prometheus.Histogram
}

// NewMetrics registers the edge's metrics. GET /metrics shows the whole registry.
func NewMetrics(registry *prometheus.Registry) *Metrics {
	m := &Metrics{
		registry: registry,
		subscribers: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "seckill_subscribers",
			Help: "Who is waiting for a result or watching a sale at this node now, by kind.",
		}, []string{"kind"}),
		recheck: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "seckill_recheck_seconds",
			Help:    "Time of the query that looks, every second, for the results of all who wait at this node.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "seckill_subscribers_refused_total",
			Help: "Who was not let wait or watch, because of too many connections, by kind.",
		}, []string{"kind"}),
		told: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "seckill_accepted_to_told_seconds",
			Help:    "Time from the acceptance of a purchase at this node until the node heard the decision and told whoever waits.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
	}
	for _, kind := range []string{byLongPoll, bySSE, bySaleEvents, bySocket} { // shown from the start
		m.refused.WithLabelValues(kind)
		m.subscribers.WithLabelValues(kind)
	}
	registry.MustRegister(m.recheck, m.refused, m.subscribers, m.told)
	return m
}

func (s *Server) registerMetrics() {
	handler := promhttp.HandlerFor(s.Hub.metrics.registry, promhttp.HandlerOpts{})
	huma.Register(s.api, withRoles(huma.Operation{
		OperationID: "metrics",
		Method:      http.MethodGet,
		Path:        "/metrics",
		Summary:     "What the node measures",
		Description: "For Prometheus, in its text format.",
		Tags:        []string{"health"},
		Responses: map[string]*huma.Response{"200": {
			Description: "The metrics.",
			Content:     map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}},
	}, auth.Operator, auth.Service), func(context.Context, *struct{}) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			r, w := humago.Unwrap(ctx)
			handler.ServeHTTP(w, r)
		}}, nil
	})
}
