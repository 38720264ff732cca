package http_test

import (
	stdhttp "net/http"
	"strings"
	"sync"
	"testing"

	"seckill/domain"
)

// click posts the same at the same time, so often.
func (c *client) click(t *testing.T, times int, path, body string, headers ...string) []answer {
	t.Helper()
	headers = append([]string{"Content-Type: application/json"}, headers...)
	answers := make([]answer, times)
	var clicks sync.WaitGroup
	for i := range answers {
		clicks.Go(func() {
			var err error
			if answers[i], err = c.try(t.Context(), stdhttp.MethodPost, path, body, headers...); err != nil {
				t.Error(err)
			}
		})
	}
	clicks.Wait()
	return answers
}

// Twenty clicks at once with one key are one purchase (FAULTS 5).
func TestServer_IdempotencyKey_DoubleClicks(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	sale := n.sale(t, 100, 5)
	ids := make(map[string]bool)
	for _, a := range n.click(t, 20, purchases(sale), by("42"), "Idempotency-Key: click") {
		p := a.purchase(t, stdhttp.StatusAccepted)
		ids[p.RequestID] = true
		if want := "/purchases/" + p.RequestID; a.header.Get("Location") != want {
			t.Errorf("Location is %q, want %q", a.header.Get("Location"), want)
		}
	}
	if len(ids) != 1 {
		t.Fatalf("20 clicks got %d request IDs", len(ids))
	}
	for id := range ids {
		n.result(t, id)
	}
	if events := value[int](t, n, "select count(*) from events where sale_id = $1 and type like 'Purchase%'", sale); events != 2 {
		t.Errorf("%d events, want one request and its outcome", events)
	}
	if left := value[int](t, n, "select available from sales where sale_id = $1", sale); left != 99 {
		t.Errorf("%d units are left, want 99", left)
	}
}

// A repeated request is answered with the first one as it stands now.
func TestServer_IdempotencyKey_Replay(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	sale := n.sale(t, 10, 3)
	const key = "Idempotency-Key: the-same"
	first := n.buy(t, sale, `{"userId":"42","quantity":2}`, key)
	won := n.result(t, first.RequestID)

	for name, body := range map[string]string{
		"SameBytes":    `{"userId":"42","quantity":2}`,
		"OtherSpacing": `{ "quantity": 2, "userId": "42" }`,
	} {
		t.Run(name, func(t *testing.T) {
			n.writesNothing(t, func() {
				if again := n.buy(t, sale, body, key); again.RequestID != first.RequestID || again.Status != "succeeded" || again.OrderID != won.OrderID {
					t.Errorf("got %+v, want %+v", again, won)
				}
			})
		})
	}
}

func TestServer_IdempotencyKey_Reused(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	sale, other := n.sale(t, 10, 3), n.sale(t, 10, 3)
	const key = "Idempotency-Key: the-same"
	n.result(t, n.buy(t, sale, `{"userId":"42","quantity":2}`, key).RequestID)
	for name, test := range map[string]struct {
		sale int64
		body string
	}{
		"OtherQuantity":   {sale, `{"userId":"42","quantity":1}`},
		"DefaultQuantity": {sale, `{"userId":"42"}`},
		"OtherSale":       {other, `{"userId":"42","quantity":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			n.writesNothing(t, func() {
				n.post(t, purchases(test.sale), test.body, key).problem(t, 422, "idempotency_key_reused")
			})
		})
	}
}

func TestServer_IdempotencyKey_BelongsToItsBuyer(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 10, 1)
	const key = "Idempotency-Key: the-same"
	if ann, ben := n.buy(t, sale, by("Ann"), key), n.buy(t, sale, by("Ben"), key); ann.RequestID == ben.RequestID || ben.UserID != "Ben" {
		t.Errorf("got %+v and %+v, want a request for each", ann, ben)
	}
}

// A buyer who lost the answer and asks again after the end gets it, and not the
// news that the sale is over.
func TestServer_IdempotencyKey_AfterTheSale(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	sale := n.sale(t, 10, 3)
	const key = "Idempotency-Key: the-same"
	won := n.result(t, n.buy(t, sale, by("42"), key).RequestID)
	n.exec(t, "update sales set opens_at = now() - interval '2 hours', closes_at = now() - interval '1 hour' where sale_id = $1", sale)
	eventually(t, "the door is closed", func() bool {
		return n.post(t, purchases(sale), by("43")).status == stdhttp.StatusConflict
	})

	if again := n.buy(t, sale, by("42"), key); again.RequestID != won.RequestID || again.Status != "succeeded" {
		t.Errorf("got %+v, want %+v", again, won)
	}
	n.post(t, purchases(sale), `{"userId":"42","quantity":2}`, key).problem(t, 422, "idempotency_key_reused")
	n.post(t, purchases(sale), by("42"), "Idempotency-Key: another").problem(t, stdhttp.StatusConflict, "sale_closed")
}

func TestServer_IdempotencyKey_Accepted(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 10, 1)
	for name, key := range map[string]string{
		"OneCharacter": "k",
		"Longest":      strings.Repeat("k", 255),
		"AllVisible":   `!"#$%&'()*+,-./:;<=>?@[\]^_{|}~` + "`",
		"UUID":         "b1f7e1d2-5a0e-4c63-9d0a-0c6c7f1f7a55",
	} {
		t.Run(name, func(t *testing.T) {
			first := n.buy(t, sale, by("42"), "Idempotency-Key: "+key)
			if again := n.buy(t, sale, by("42"), "Idempotency-Key: "+key); again.RequestID != first.RequestID {
				t.Errorf("the repeated request is another: %s and %s", first.RequestID, again.RequestID)
			}
		})
	}
}

func TestServer_IdempotencyKey_Refused(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.schedule(t, domain.SaleScheduled{Stock: 10})
	for name, key := range map[string]string{
		"Empty":      "",
		"TooLong":    strings.Repeat("k", 256),
		"Space":      "two words",
		"Tab":        "two\twords",
		"NotASCII":   "秒杀",
		"NotUTF8":    "\xff",
		"HighLatin1": "\xe9",
	} {
		t.Run(name, func(t *testing.T) {
			n.writesNothing(t, func() {
				n.post(t, purchases(sale), by("42"), "Idempotency-Key: "+key).
					problem(t, 422, "invalid_request").at(t, "header.Idempotency-Key")
			})
		})
	}
}
