package load

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"seckill/load/noop"
)

func TestRun_Follow(t *testing.T) {
	t.Parallel()
	for _, follow := range []Follow{FollowLongPoll, FollowShortPoll, FollowSSE} {
		t.Run(string(follow), func(t *testing.T) {
			t.Parallel()
			report := mustRun(t, Config{Target: serve(t, noop.New()), Buyers: 4, Requests: 50, NewSales: 2, Follow: follow})
			if report.Told != 50 || report.Outcomes["confirmed"] != 50 || report.Decide.Count != 50 {
				t.Errorf("told %d, outcomes %v, timed %d, want 50 each", report.Told, report.Outcomes, report.Decide.Count)
			}
			if report.Broken() || len(report.Errors) > 0 {
				t.Errorf("rules %+v, errors %v", report.Rules, report.Errors)
			}
		})
	}

	t.Run("none", func(t *testing.T) {
		t.Parallel()
		report := mustRun(t, Config{Target: serve(t, noop.New()), Requests: 50, Follow: FollowNone})
		if report.Told != 0 || report.Outcomes["confirmed"] != 50 || report.Broken() {
			t.Errorf("told %d, outcomes %v, rules %+v; want results read after the load only",
				report.Told, report.Outcomes, report.Rules)
		}
	})

	t.Run("ws", func(t *testing.T) {
		t.Parallel()
		report := mustRun(t, Config{Target: serve(t, withSocket(t)), Buyers: 4, Requests: 50, Follow: FollowWebSocket})
		if report.Told != 50 || report.Broken() || len(report.Errors) > 0 {
			t.Errorf("told %d, rules %+v, errors %v", report.Told, report.Rules, report.Errors)
		}
	})

	t.Run("wsNotOffered", func(t *testing.T) {
		t.Parallel()
		_, err := Run(t.Context(), Config{Target: serve(t, noop.New()), Duration: time.Hour, Follow: FollowWebSocket})
		if !errors.Is(err, errNoSocket) {
			t.Errorf("Run = %v, want %v", err, errNoSocket)
		}
	})
}

// withSocket is the no-op server with a WebSocket for every purchase.
func withSocket(t *testing.T) http.Handler {
	t.Helper()
	server := rewriting(noop.New(), func(body []byte) []byte {
		return bytes.Replace(body, []byte(`"links":{`), []byte(`"links":{"ws":"/ws/`+requestID(body)+`",`), 1)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, found := strings.CutPrefix(r.URL.Path, "/ws/")
		if !found {
			server.ServeHTTP(w, r)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		for _, message := range []string{
			`{"requestId":"` + id + `","status":"processing"}`,
			answer(server, "/purchases/"+id),
		} {
			if err := conn.Write(r.Context(), websocket.MessageText, []byte(message)); err != nil {
				t.Error(err)
				return
			}
		}
		_, _, _ = conn.Read(r.Context()) // until the client closes
	})
}

func TestRun_Buyers(t *testing.T) {
	t.Parallel()

	t.Run("LeaveAndAreReadLater", func(t *testing.T) {
		t.Parallel()
		for _, follow := range []Follow{FollowLongPoll, FollowSSE} {
			report := mustRun(t, Config{Target: serve(t, noop.New()), Buyers: 4, Requests: 40, Leave: 1, Follow: follow})
			if report.Told != 0 || report.Outcomes["confirmed"] != 40 || report.Broken() || len(report.Errors) > 0 {
				t.Errorf("%s: told %d, outcomes %v, rules %+v, errors %v",
					follow, report.Told, report.Outcomes, report.Rules, report.Errors)
			}
		}
	})

	t.Run("ComeBackWhenThePushBreaks", func(t *testing.T) {
		t.Parallel()
		server := noop.New()
		broken := false
		report := mustRun(t, Config{Buyers: 1, Requests: 3, Follow: FollowSSE, Target: serve(t,
			http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/events") && !broken {
					broken = true
					return
				}
				server.ServeHTTP(w, r)
			}))})
		if report.Told != 3 || report.Errors[errNoResult.Error()] != 1 || report.Broken() {
			t.Errorf("told %d, errors %v, rules %+v", report.Told, report.Errors, report.Rules)
		}
	})
}

// TestRun_FindsBrokenRules runs against servers that break one rule each.
func TestRun_FindsBrokenRules(t *testing.T) {
	t.Parallel()
	orderID := regexp.MustCompile(`"orderId":"[^"]*"`)
	for _, test := range []struct {
		name   string
		server http.Handler
		cfg    Config
		want   []RuleName
	}{
		{name: "Oversell", server: noop.New(), cfg: Config{Stock: 49}, want: []RuleName{RuleStock}},
		{name: "Limit", server: noop.New(), cfg: Config{Repeat: 1, Buyers: 1}, want: []RuleName{RuleLimit}},
		{name: "IgnoredKey", server: noop.New(), cfg: Config{DoubleClick: 1}, want: []RuleName{RuleOneRequest, RuleStock}},
		{
			name: "DuplicateOrder",
			server: rewriting(noop.New(), func(body []byte) []byte {
				return orderID.ReplaceAll(body, []byte(`"orderId":"A1"`))
			}),
			want: []RuleName{RuleOrderOnce},
		},
		{
			name: "NeverDecided",
			server: rewriting(noop.New(), func(body []byte) []byte {
				return bytes.Replace(body, []byte("succeeded"), []byte("processing"), 1)
			}),
			cfg:  Config{Follow: FollowNone, Settle: 50 * time.Millisecond},
			want: []RuleName{RuleOneResult, RuleStock},
		},
		{
			name: "SomebodyElsesResult",
			server: rewriting(noop.New(), func(body []byte) []byte {
				if !bytes.Contains(body, []byte("succeeded")) {
					return body
				}
				return regexp.MustCompile(`"userId":"[^"]*"`).ReplaceAll(body, []byte(`"userId":"eve"`))
			}),
			cfg:  Config{Settle: time.Second},
			want: []RuleName{RuleOneResult, RuleOwnResult, RuleStock},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cfg := test.cfg
			cfg.Target, cfg.Requests = serve(t, test.server), 50
			got := brokenRules(mustRun(t, cfg).Rules)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("broken rules (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRun_Refusals(t *testing.T) {
	t.Parallel()
	refusing := func(status int, problem string) http.Handler {
		server := noop.New()
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && r.URL.Path != "/sales" {
				w.WriteHeader(status)
				_, _ = w.Write([]byte(problem))
				return
			}
			server.ServeHTTP(w, r)
		})
	}

	t.Run("AtTheDoorIsAnOutcome", func(t *testing.T) {
		t.Parallel()
		report := mustRun(t, Config{Target: serve(t, refusing(409, `{"code":"sale_paused"}`)), Requests: 10})
		if diff := cmp.Diff(map[string]int64{"sale_paused (at the door)": 10}, report.Outcomes); diff != "" {
			t.Errorf("outcomes (-want +got):\n%s", diff)
		}
	})

	t.Run("OverloadIsAnError", func(t *testing.T) {
		t.Parallel()
		report := mustRun(t, Config{Target: serve(t, refusing(503, `{"code":"overloaded"}`)), Requests: 10})
		if diff := cmp.Diff(map[string]int64{"503 overloaded": 10}, report.Errors); diff != "" {
			t.Errorf("errors (-want +got):\n%s", diff)
		}
	})

	t.Run("StatusWithoutACode", func(t *testing.T) {
		t.Parallel()
		report := mustRun(t, Config{Target: serve(t, refusing(502, "bad gateway")), Requests: 10})
		if diff := cmp.Diff(map[string]int64{"502": 10}, report.Errors); diff != "" {
			t.Errorf("errors (-want +got):\n%s", diff)
		}
	})
}

func TestRun_Interrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := slowly(func() { cancel() })
	report, err := Run(ctx, Config{Target: serve(t, server), Buyers: 2, Duration: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if report.Broken() {
		t.Errorf("an interruption was held against the service: %+v", report.Rules)
	}
}

func TestRun_InvalidConfig(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]Config{
		"BothLoops":     {Buyers: 1, Rate: 1},
		"Follow":        {Follow: "pigeon"},
		"NegativeCount": {Requests: -1},
		"RampOnly":      {Ramp: time.Second},
		"Share":         {Leave: 1.5},
		"ThinkInRate":   {Rate: 1, Think: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg.Target = "http://127.0.0.1:1"
			if _, err := Run(t.Context(), cfg); err == nil {
				t.Errorf("Run(%+v) succeeded", cfg)
			}
		})
	}

	t.Run("NoServer", func(t *testing.T) {
		t.Parallel()
		if _, err := Run(t.Context(), Config{Target: "http://127.0.0.1:1"}); err == nil || errors.Is(err, ErrNotLoopback) {
			t.Errorf("Run = %v, want a refused connection", err)
		}
	})
}

// rewriting lets a function change the bodies of a server's answers.
func rewriting(server http.Handler, rewrite func([]byte) []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		server.ServeHTTP(recorder, r)
		maps.Copy(w.Header(), recorder.Header())
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(rewrite(recorder.Body.Bytes()))
	})
}

// answer is the body that a server answers a GET with.
func answer(server http.Handler, path string) string {
	recorder := httptest.NewRecorder()
	server.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
	return recorder.Body.String()
}

// requestID is the one in a body.
func requestID(body []byte) string {
	_, after, _ := bytes.Cut(body, []byte(`"requestId":"`))
	id, _, _ := bytes.Cut(after, []byte(`"`))
	return string(id)
}
