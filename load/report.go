package load

import "time"

// Report is what a run found. Counts are of the whole run; rates, latencies and
// usage are of the measurement, without the warm-up.
type Report struct {
	Target  string    `json:"target"`
	Load    string    `json:"load"`
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"` // measured

	Begun    int64 `json:"begun"`
	Accepted int64 `json:"accepted"`
	Told     int64 `json:"told"`

	AcceptedPerSecond float64 `json:"acceptedPerSecond"`
	ToldPerSecond     float64 `json:"toldPerSecond"`

	// Accept is from the moment a purchase was due to its 202.
	Accept Latency `json:"accept"`
	// Decide is from the 202 to the result.
	Decide Latency `json:"decide"`
	// Total is from the moment a purchase was due to the result.
	Total Latency `json:"total"`
	// Lag is how late purchases were sent: the generator's own part of Accept.
	Lag Latency `json:"lag"`

	Outcomes map[string]int64 `json:"outcomes"`
	Errors   map[string]int64 `json:"errors"`

	Client *Usage `json:"client,omitempty"`
	Server *Usage `json:"server,omitempty"`

	Sales    []SaleReport `json:"sales"`
	Rules    []Rule       `json:"rules"`
	Timeline []Second     `json:"timeline"`
}

// SaleReport is one sale, as its buyers know it and as the service does.
type SaleReport struct {
	SaleID    int64 `json:"saleId"`
	Stock     int64 `json:"stock"`
	Available int64 `json:"available"`
	Confirmed int64 `json:"confirmed"` // units that buyers were told they have
}

// Broken reports whether the service broke a rule.
func (r *Report) Broken() bool { return broken(r.Rules) }

func (r *run) report(begin time.Time, took time.Duration, usage *usageMeter, rules []Rule) *Report {
	m := r.meter
	counts := m.progress()
	report := &Report{
		Target:   r.cfg.Target,
		Load:     r.cfg.describe(),
		Started:  begin.UTC(),
		Seconds:  took.Seconds(),
		Begun:    counts.Begun,
		Accepted: counts.Accepted,
		Told:     counts.Told,
		Accept:   summarize(m.accept),
		Decide:   summarize(m.decide),
		Total:    summarize(m.total),
		Lag:      summarize(m.lag),
		Outcomes: m.outcomes,
		Errors:   m.errors,
		Client:   usage.client.usage(m.accepted),
		Server:   usage.server.usage(m.accepted),
		Rules:    rules,
		Timeline: m.timeline.seconds,
	}
	if took > 0 {
		report.AcceptedPerSecond = float64(m.accepted) / took.Seconds()
		report.ToldPerSecond = float64(m.told) / took.Seconds()
	}
	for _, a := range r.accounts {
		report.Sales = append(report.Sales, SaleReport{
			SaleID:    a.before.SaleID,
			Stock:     a.after.Stock,
			Available: a.after.Available,
			Confirmed: a.confirmed,
		})
	}
	return report
}
