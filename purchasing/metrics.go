package purchasing

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"seckill/domain"
	"seckill/eventstore"
)

// Metrics are what the write side of a node measures. docs/operations.md says what
// each means.
type Metrics struct {
	accepted   prometheus.Counter
	decided    *prometheus.CounterVec // by outcome
	turnedAway *prometheus.CounterVec // by reason
	batches    *prometheus.HistogramVec
	stages     *prometheus.HistogramVec
}

// The stages of a purchase.
const (
	stageQueue  = "queue"  // from the call until a transaction begins with it
	stageIntake = "intake" // the transaction that accepts it
	stageWait   = "wait"   // from acceptance to the decision, by the database's clock
	stageDecide = "decide" // the transaction that decides it
)

// reasonOverloaded is why a purchase is turned away that the sale itself would take.
const reasonOverloaded = "overloaded"

// NewMetrics registers the write side's metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		accepted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "seckill_purchases_accepted_total",
			Help: "Purchases accepted by this node (202).",
		}),
		decided: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "seckill_purchases_decided_total",
			Help: "Purchases decided by this node, by outcome: confirmed, or the reason of the rejection.",
		}, []string{"outcome"}),
		turnedAway: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "seckill_purchases_turned_away_total",
			Help: "Purchases refused by this node before they were accepted, by reason.",
		}, []string{"reason"}),
		batches: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "seckill_batch_size",
			Help:    "Purchases in one transaction, by stage.",
			Buckets: []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000},
		}, []string{"stage"}),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "seckill_stage_seconds",
			Help:    "Time that purchases spend in a stage on their way.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"stage"}),
	}
	registry.MustRegister(m.accepted, m.decided, m.turnedAway, m.batches, m.stages)
	return m
}

// tookIn counts a batch that was accepted.
func (m *Metrics) tookIn(batch []*pending, begun time.Time) {
	if len(batch) == 0 {
		return
	}
	m.accepted.Add(float64(len(batch)))
	m.batches.WithLabelValues(stageIntake).Observe(float64(len(batch)))
	queue, intake, took := m.stages.WithLabelValues(stageQueue), m.stages.WithLabelValues(stageIntake), time.Since(begun).Seconds()
	for _, p := range batch {
		queue.Observe(begun.Sub(p.queuedAt).Seconds())
		intake.Observe(took)
	}
}

// decidedBatch counts purchases that were decided by one transaction.
func (m *Metrics) decidedBatch(purchases []*eventstore.Stream, begun time.Time) {
	if len(purchases) == 0 {
		return
	}
	m.batches.WithLabelValues(stageDecide).Observe(float64(len(purchases)))
	wait, decide, took := m.stages.WithLabelValues(stageWait), m.stages.WithLabelValues(stageDecide), time.Since(begun).Seconds()
	for _, purchase := range purchases {
		request, outcome := purchase.Events[0], purchase.Events[1]
		wait.Observe(outcome.RecordedAt.Sub(request.RecordedAt).Seconds())
		decide.Observe(took)
		m.decided.WithLabelValues(outcomeName(outcome.Data)).Inc()
	}
}

func outcomeName(outcome domain.Event) string {
	if rejected, ok := outcome.(domain.PurchaseRejected); ok {
		return string(rejected.Reason)
	}
	return "confirmed"
}
