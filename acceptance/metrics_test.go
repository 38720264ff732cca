package acceptance_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

var metricName = regexp.MustCompile(`\bseckill_[a-z_]+`)

// TestMetrics compares what a node exports with what docs/operations.md explains.
func TestMetrics(t *testing.T) {
	s := startService(t, 1)
	n := s.nodes[0]
	accepted := s.accept(t, n, order{sale: s.schedule(t, plan{Stock: 1, PerUserLimit: 1}), user: "42", quantity: 1})
	for _, w := range s.wait(t, accepted.RequestID) {
		<-w.done
	}
	exported := s.metrics(t, n)
	for _, want := range []string{
		"seckill_listener_connected 1",
		"seckill_purchases_accepted_total 1",
		`seckill_pool_connections_max{pool="intake"} 4`,
	} {
		if !strings.Contains(exported, want+"\n") {
			t.Errorf("the node does not export %s", want)
		}
	}

	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	explained := make(map[string]bool)
	for _, name := range metricName.FindAllString(string(page), -1) {
		explained[name] = true
	}
	for _, line := range regexp.MustCompile(`(?m)^# TYPE (seckill_\S+)`).FindAllStringSubmatch(exported, -1) {
		if !explained[line[1]] {
			t.Errorf("docs/operations.md does not explain %s", line[1])
		}
		delete(explained, line[1])
	}
	delete(explained, "seckill_purchases_turned_away_total") // shown from the first one on
	for name := range explained {
		t.Errorf("docs/operations.md explains %s, which the node does not export", name)
	}
	s.conclude(t)
}

func (s *service) metrics(t *testing.T, n *node) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url("/metrics"), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("GET /metrics: %s, %v", answer.Status, err)
	}
	return string(text)
}
