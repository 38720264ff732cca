package load

import (
	"context"
	"strconv"
	"time"
)

// Usage is what a process cost while the load was measured.
type Usage struct {
	PID int `json:"pid,omitempty"`
	// Cores is CPU time per time: 1 is one core, always busy.
	Cores float64 `json:"cores"`
	// CPUPerPurchase is in microseconds per accepted purchase.
	CPUPerPurchase float64 `json:"cpuPerPurchaseUs"`
	// PeakMemory is the most resident bytes seen, looking once a second.
	PeakMemory int64 `json:"peakMemoryBytes"`
}

// usageMeter watches the generator and, where it has an ID, the server.
type usageMeter struct {
	client, server processMeter
}

type processMeter struct {
	pid         string // "" watches nothing
	first, last ProcessUsage
	from, to    time.Time
	peak        int64
}

func newUsageMeter(serverPID int) *usageMeter {
	m := &usageMeter{client: processMeter{pid: "self"}}
	if serverPID > 0 {
		m.server.pid = strconv.Itoa(serverPID)
	}
	return m
}

// watch looks once a second from begin to end, or until ctx is done.
func (m *usageMeter) watch(ctx context.Context, begin, end time.Time) {
	if !sleep(ctx, time.Until(begin)) {
		return
	}
	if !end.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	for more := true; more; more = sleep(ctx, time.Second) {
		m.client.look()
		m.server.look()
	}
	m.client.look()
	m.server.look()
}

func (m *processMeter) look() {
	if m.pid == "" {
		return
	}
	usage, err := ReadUsage(m.pid)
	if err != nil {
		return // not a system that tells, or the process is gone
	}
	now := time.Now()
	if m.from.IsZero() {
		m.first, m.from = usage, now
	}
	m.last, m.to = usage, now
	m.peak = max(m.peak, usage.Resident)
}

// usage sums up, or is nil if nothing could be read.
func (m *processMeter) usage(accepted int64) *Usage {
	if !m.to.After(m.from) {
		return nil
	}
	cpu := m.last.CPU - m.first.CPU
	u := &Usage{
		Cores:      cpu.Seconds() / m.to.Sub(m.from).Seconds(),
		PeakMemory: m.peak,
	}
	u.PID, _ = strconv.Atoi(m.pid) // "self" has no number to tell
	if accepted > 0 {
		u.CPUPerPurchase = float64(cpu.Microseconds()) / float64(accepted)
	}
	return u
}
