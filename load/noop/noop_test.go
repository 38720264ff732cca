package noop_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/load/noop"
)

func TestHandler(t *testing.T) {
	t.Parallel()

	type testBundle struct{ handler *noop.Handler }
	setup := func(t *testing.T) *testBundle {
		t.Helper()
		b := &testBundle{handler: noop.New()}
		created := call(b.handler, http.MethodPost, "/sales", `{"stock":10,"perUserLimit":2}`)
		if created.Code != http.StatusCreated || created.Header().Get("Location") != "/sales/1" {
			t.Fatalf("POST /sales: %d %s", created.Code, created.Body)
		}
		return b
	}

	t.Run("AcceptsAndAnswers", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		accepted := call(b.handler, http.MethodPost, "/sales/1/purchases", `{"userId":"a&b","quantity":2}`)
		if accepted.Code != http.StatusAccepted {
			t.Fatalf("%d %s", accepted.Code, accepted.Body)
		}
		body := decode(t, accepted)
		if got, want := accepted.Header().Get("Location"), "/purchases/"+body["requestId"].(string); got != want {
			t.Errorf("Location = %q, want %q", got, want)
		}
		if body["status"] != "processing" {
			t.Errorf("body = %v", body)
		}

		links := body["links"].(map[string]any)
		result := decode(t, call(b.handler, http.MethodGet, links["self"].(string)+"&wait=30s", ""))
		for field, want := range map[string]any{
			"requestId": body["requestId"], "saleId": 1.0, "userId": "a&b", "quantity": 2.0,
			"status": "succeeded", "success": true,
		} {
			if diff := cmp.Diff(want, result[field]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", field, diff)
			}
		}

		again := decode(t, call(b.handler, http.MethodGet, links["self"].(string), ""))
		if result["orderId"] == "" || result["orderId"] != again["orderId"] {
			t.Errorf("order %v, then %v", result["orderId"], again["orderId"])
		}

		stream := call(b.handler, http.MethodGet, links["events"].(string), "")
		if kind := stream.Header().Get("Content-Type"); kind != "text/event-stream" {
			t.Errorf("Content-Type = %q", kind)
		}
		for _, want := range []string{"event: processing\nid: 1\ndata: {", "event: result\nid: 2\ndata: {", `"status":"succeeded"`} {
			if !strings.Contains(stream.Body.String(), want) {
				t.Errorf("the stream lacks %q:\n%s", want, stream.Body)
			}
		}

		sale := decode(t, call(b.handler, http.MethodGet, "/sales/1", ""))
		if sale["stock"] != 10.0 || sale["available"] != 8.0 {
			t.Errorf("sale = %v, want 8 of 10 available", sale)
		}
	})

	t.Run("Refuses", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		for _, test := range []struct {
			method, path, body string
			status             int
			code               string
		}{
			{http.MethodPost, "/sales/9/purchases", `{"userId":"a"}`, 404, "sale_not_found"},
			{http.MethodPost, "/sales/x/purchases", `{"userId":"a"}`, 404, "sale_not_found"},
			{http.MethodPost, "/sales/1/purchases", `{`, 400, "invalid_json"},
			{http.MethodPost, "/sales/1/purchases", `{}`, 422, "user_required"},
			{http.MethodPost, "/sales/1/purchases", `"` + strings.Repeat("x", 1<<17) + `"`, 413, "body_too_large"},
			{http.MethodGet, "/purchases/x", "", 404, "request_not_found"},
			{http.MethodGet, "/purchases/x/events", "", 404, "request_not_found"},
			{http.MethodGet, "/sales/9", "", 404, "sale_not_found"},
		} {
			answer := call(b.handler, test.method, test.path, test.body)
			if answer.Code != test.status || decode(t, answer)["code"] != test.code {
				t.Errorf("%s %s: %d %s, want %d %s", test.method, test.path, answer.Code, answer.Body, test.status, test.code)
			}
		}
	})

	t.Run("IsReady", func(t *testing.T) {
		t.Parallel()
		if answer := call(noop.New(), http.MethodGet, "/readyz", ""); answer.Code != http.StatusOK {
			t.Errorf("GET /readyz: %d", answer.Code)
		}
	})
}

func call(handler http.Handler, method, path, body string) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(method, path, strings.NewReader(body)))
	return recorder
}

func decode(t *testing.T, answer *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil {
		t.Fatalf("%v in %s", err, answer.Body)
	}
	return body
}
