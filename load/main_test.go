package load

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"seckill/load/noop"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server for one test and returns its base URL.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// mustRun runs a load and expects a report.
func mustRun(t *testing.T, cfg Config) *Report {
	t.Helper()
	report, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// brokenRules are the rules that a report says were broken.
func brokenRules(rules []Rule) []RuleName {
	var names []RuleName
	for _, rule := range rules {
		if rule.Broken > 0 {
			names = append(names, rule.Name)
		}
	}
	return names
}

// slowly is the no-op server with an accident before each purchase.
func slowly(accident func()) http.Handler {
	server := noop.New()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path != "/sales" {
			accident()
		}
		server.ServeHTTP(w, r)
	})
}

// milliseconds is a latency of the report as a duration.
func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
