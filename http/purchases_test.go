package http_test

import (
	"maps"
	stdhttp "net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"seckill/domain"
)

// fieldsOf are the names of what a body has, sorted.
func fieldsOf(t *testing.T, a answer) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(a.fields(t)))
}

func TestServer_RequestPurchase_Accepted(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 10, 3)
	before := time.Now()

	a := n.post(t, purchases(sale), `{"userId":"42","quantity":3}`)

	p := a.purchase(t, stdhttp.StatusAccepted)
	id, err := uuid.Parse(p.RequestID)
	if err != nil || id.Version() != 7 {
		t.Errorf("the request ID is %q, want a UUIDv7", p.RequestID)
	}
	if p.SaleID != sale || p.UserID != "42" || p.Quantity != 3 || p.Status != "processing" {
		t.Errorf("got %s", a.body)
	}
	if p.AcceptedAt.Before(before.Add(-time.Minute)) || p.AcceptedAt.After(time.Now().Add(time.Minute)) || p.AcceptedAt.Location() != time.UTC {
		t.Errorf("it was accepted at %s, want now, in UTC", p.AcceptedAt)
	}
	want := []string{"acceptedAt", "links", "message", "quantity", "requestId", "saleId", "status", "userId"}
	if diff := cmp.Diff(want, fieldsOf(t, a)); diff != "" {
		t.Errorf("the fields while processing (-want +got):\n%s", diff)
	}
	self := "/purchases/" + p.RequestID
	if p.Links.Self != self || p.Links.Events != self+"/events" || p.Links.WS != self+"/ws" {
		t.Errorf("the links are %+v", p.Links)
	}
	for name, want := range map[string]string{"Cache-Control": "no-store", "Content-Type": "application/json", "Location": self} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if events := value[int](t, n, "select count(*) from events where stream_id = $1 and type = 'PurchaseRequested'", id); events != 1 {
		t.Errorf("it is accepted and %d events say so", events)
	}
	if polled := n.get(t, p.Links.Self).is(t, stdhttp.StatusOK); string(polled.body) != string(a.body) {
		t.Errorf("accepted is another than polled:\n%s\n%s", a.body, polled.body)
	}
}

func TestServer_RequestPurchase_QuantityIsOneByDefault(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	if p := n.buy(t, n.sale(t, 10, 3), `{"userId":"42"}`); p.Quantity != 1 {
		t.Errorf("got %+v", p)
	}
}

func TestServer_RequestPurchase_LongestUserID(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	user := strings.Repeat("🛒", 64)
	if p := n.buy(t, n.sale(t, 10, 1), by(user)); p.UserID != user {
		t.Errorf("got %+v", p)
	}
}

func TestServer_RequestPurchase_Succeeded(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	id := n.buy(t, n.sale(t, 10, 2), `{"userId":"42","quantity":2}`).RequestID
	p := n.result(t, id)
	a := n.get(t, "/purchases/"+id)

	if p.Status != "succeeded" || p.Success == nil || !*p.Success || p.OrderID == "" {
		t.Errorf("got %+v, want a success with an order", p)
	}
	if p.DecidedAt.Before(p.AcceptedAt) || !p.PayBy.After(p.DecidedAt.Add(14*time.Minute)) {
		t.Errorf("accepted at %s, decided at %s, to be paid by %s", p.AcceptedAt, p.DecidedAt, p.PayBy)
	}
	want := []string{
		"acceptedAt", "decidedAt", "links", "message", "orderId", "payBy", "quantity", "requestId", "saleId", "status", "success", "userId",
	}
	if diff := cmp.Diff(want, fieldsOf(t, a)); diff != "" {
		t.Errorf("the fields of a success (-want +got):\n%s", diff)
	}
}

func TestServer_RequestPurchase_LimitExceeded(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	sale := n.sale(t, 10, 1)
	won := n.result(t, n.buy(t, sale, by("42")).RequestID)
	id := n.buy(t, sale, by("42")).RequestID
	p := n.result(t, id)
	a := n.get(t, "/purchases/"+id)

	if p.Status != "failed" || p.Success == nil || *p.Success || p.Reason != "limit_exceeded" {
		t.Errorf("got %+v, want a failure", p)
	}
	if p.ExistingRequestID != won.RequestID || p.ExistingOrderID != won.OrderID {
		t.Errorf("got %+v, want it to name the request %s and the order %s", p, won.RequestID, won.OrderID)
	}
	want := []string{
		"acceptedAt", "decidedAt", "existingOrderId", "existingRequestId", "links", "message", "quantity", "reason", "requestId",
		"saleId", "status", "success", "userId",
	}
	if diff := cmp.Diff(want, fieldsOf(t, a)); diff != "" {
		t.Errorf("the fields of a failure (-want +got):\n%s", diff)
	}
}

// A request for more than what is left fails, also when it is the first; a
// smaller one after it still wins the last unit (FAULTS 4, 13).
func TestServer_RequestPurchase_MoreThanIsLeft(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	sale := n.sale(t, 1, 2)
	tooMany := n.result(t, n.buy(t, sale, `{"userId":"Ann","quantity":2}`).RequestID)
	last := n.result(t, n.buy(t, sale, by("Ben")).RequestID)
	if tooMany.Reason != "sold_out" || last.Status != "succeeded" {
		t.Errorf("got %+v and %+v, want only the second to win", tooMany, last)
	}
	a := n.post(t, purchases(sale), by("Cai"))
	if a.status == 409 { // the door knows by now
		a.problem(t, 409, "sold_out")
		return
	}
	none := n.result(t, a.purchase(t, 202).RequestID)
	if none.Reason != "sold_out" || none.OrderID != "" || none.ExistingOrderID != "" || !none.PayBy.IsZero() {
		t.Errorf("got %+v, want nothing that belongs to somebody else", none)
	}
}

// Many clicks of one buyer without a key are many requests and one order, whose
// request and order the others name (FAULTS 5).
func TestServer_RequestPurchase_ManyClicks(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	sale := n.sale(t, 100, 1)
	var won []purchase
	var lost []purchase
	for _, a := range n.click(t, 20, purchases(sale), by("42")) {
		p := n.result(t, a.purchase(t, stdhttp.StatusAccepted).RequestID)
		if p.Status == "succeeded" {
			won = append(won, p)
		} else {
			lost = append(lost, p)
		}
	}
	if len(won) != 1 || len(lost) != 19 {
		t.Fatalf("%d won and %d lost, want one order", len(won), len(lost))
	}
	for _, p := range lost {
		if p.Reason != "limit_exceeded" || p.ExistingRequestID != won[0].RequestID || p.ExistingOrderID != won[0].OrderID {
			t.Errorf("got %+v, want it to name %s and %s", p, won[0].RequestID, won[0].OrderID)
		}
	}
	if left := value[int](t, n, "select available from sales where sale_id = $1", sale); left != 99 {
		t.Errorf("%d units are left, want 99", left)
	}
}

// A result belongs to one request: two buyers of the same goods are told
// different things (FAULTS 6).
func TestServer_GetPurchase_EachItsOwn(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	sale := n.sale(t, 1, 1)
	first, second := n.buy(t, sale, by("Ann")), n.buy(t, sale, by("Ben"))
	won, lost := n.result(t, first.RequestID), n.result(t, second.RequestID)
	if won.Status != "succeeded" || won.UserID != "Ann" || lost.Status != "failed" || lost.UserID != "Ben" {
		t.Errorf("got %+v and %+v", won, lost)
	}
}

// Outside the window nothing is taken in.
func TestServer_RequestPurchase_Door(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	for code, sale := range map[string]int64{"sale_not_open": n.saleToCome(t), "sale_closed": n.pastSale(t)} {
		t.Run(code, func(t *testing.T) {
			n.writesNothing(t, func() {
				n.post(t, purchases(sale), by("42")).problem(t, stdhttp.StatusConflict, code)
			})
		})
	}
}

// Polling never writes, whatever it asks for.
func TestServer_GetPurchase_WritesNothing(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	id := n.buy(t, n.sale(t, 10, 1), by("42")).RequestID
	n.result(t, id)
	n.writesNothing(t, func() {
		n.get(t, "/purchases/"+id).is(t, stdhttp.StatusOK)
		n.get(t, "/purchases/"+id+"?wait=1s").is(t, stdhttp.StatusOK)
		n.get(t, "/purchases/"+id+"/events").is(t, stdhttp.StatusOK)
		n.get(t, "/seckill/result/"+id).is(t, stdhttp.StatusOK)
	})
}

// A result is told from the stream when its row is gone: a winner is never told
// that it is too late to ask.
func TestServer_GetPurchase_RowIsGone(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	id := n.buy(t, n.sale(t, 10, 1), by("42")).RequestID
	want := n.result(t, id)
	n.exec(t, "delete from purchase_results where request_id = $1", id)

	other := startNodeOn(t, n.url, nodeConfig{}) // which remembers nothing
	if diff := cmp.Diff(want, other.result(t, id)); diff != "" {
		t.Errorf("without its row the result is another (-before +after):\n%s", diff)
	}
}

func TestServer_GetPurchase_EveryReason(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 10, 1)
	for _, reason := range []domain.Reason{
		domain.ReasonInternal, domain.ReasonLimitExceeded, domain.ReasonSaleClosed, domain.ReasonSaleNotOpen, domain.ReasonSoldOut,
	} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			id := n.buy(t, sale, by("42")).RequestID
			n.decide(t, uuid.MustParse(id), domain.PurchaseRejected{Reason: reason})
			p := n.result(t, id)
			if p.Status != "failed" || p.Reason != string(reason) || p.Message == "" {
				t.Errorf("got %+v", p)
			}
		})
	}
}
