package http

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// The ways in which somebody waits for a result.
const (
	byLongPoll = "long_poll"
	bySSE      = "sse"
	bySocket   = "websocket"
)

// Metrics are what the edge of a node measures. docs/operations.md says what each
// means.
type Metrics struct {
	registry    *prometheus.Registry
	subscribers *prometheus.GaugeVec // by kind
	told        prometheus.Histogram
}

// NewMetrics registers the edge's metrics. GET /metrics shows the whole registry.
func NewMetrics(registry *prometheus.Registry) *Metrics {
	m := &Metrics{
		registry: registry,
		subscribers: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "seckill_subscribers",
			Help: "Who is waiting for a result at this node now, by kind.",
		}, []string{"kind"}),
		told: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "seckill_accepted_to_told_seconds",
			Help:    "Time from the acceptance of a purchase at this node until the node heard the decision and told whoever waits.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
	}
	for _, kind := range []string{byLongPoll, bySSE, bySocket} {
		m.subscribers.WithLabelValues(kind) // shown from the start
	}
	registry.MustRegister(m.subscribers, m.told)
	return m
}

// subscribed counts a subscriber until the returned function is called.
func (m *Metrics) subscribed(kind string) (left func()) {
	gauge := m.subscribers.WithLabelValues(kind)
	gauge.Inc()
	return gauge.Dec
}

func (s *Server) registerMetrics() {
	handler := promhttp.HandlerFor(s.Hub.metrics.registry, promhttp.HandlerOpts{})
	huma.Register(s.api, huma.Operation{
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
	}, func(context.Context, *struct{}) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			r, w := humago.Unwrap(ctx)
			handler.ServeHTTP(w, r)
		}}, nil
	})
}
