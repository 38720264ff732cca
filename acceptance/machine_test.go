package acceptance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const (
	// machineChecks is how many machines run where -rapid.checks does not say.
	machineChecks = "30"
	// gateWithin is how long a node's door may go on to refuse what would be taken by
	// now: it opens within a second.
	gateWithin = 2 * time.Second
	// briskTimeout is the payment time-out of the sale whose orders expire. Their last
	// second is left alone: whether a command that is under way then is in time is
	// for the races of the write side to test.
	briskTimeout = 2 * time.Second
	lastSecond   = time.Second
	// expiredWithin is how long after its pay-by time an order has to be expired.
	expiredWithin = 5 * time.Second
)

// machine gives commands to the service and to the model, and compares.
type machine struct {
	*service
	model

	at       int // the node that the next call goes to
	brisk    *modelSale
	ids      map[*modelSale]int64
	payBy    map[*modelOrder]time.Time // of those that expire soon
	requests int
	spoiled  bool // it stood still for so long that an order may have expired on the way
}

// TestMachine gives the service random commands, each at a random node, and compares
// every answer, and what the service shows after it, with the model.
func TestMachine(t *testing.T) {
	s := startService(t, 2)
	boundChecks(t)
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t, s, common, brisk, toCome)
		t.Repeat(map[string]func(*rapid.T){
			"":        m.compare,
			"buy":     m.buy,
			"buyMore": m.buy, // without purchases the rest is boring
			"cancel":  m.cancel,
			"close":   m.close,
			"expire":  m.expire,
			"open":    m.open,
			"pause":   m.pause,
			"pay":     m.pay,
			"refund":  m.refund,
			"resume":  m.resume,
			"stock":   m.changeStock,
		})
	})
	s.conclude(t)
}

func boundChecks(t *testing.T) {
	t.Helper()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set(machineChecks); err != nil {
			t.Fatal(err)
		}
	}
}

// Kinds of sales.
const (
	common = "common"
	brisk  = "brisk"   // its orders expire soon
	toCome = "to come" // it is still to open
)

// newMachine schedules sales of these kinds.
func newMachine(t *rapid.T, s *service, kinds ...string) *machine {
	m := &machine{service: s, ids: make(map[*modelSale]int64), payBy: make(map[*modelOrder]time.Time)}
	for _, kind := range kinds {
		stock := rapid.Int64Range(1, 8).Draw(t, kind+" stock")
		sale := &modelSale{stock: stock, free: stock, limit: rapid.Int64Range(1, 4).Draw(t, kind+" limit"), opened: kind != toCome}
		fields := map[string]any{
			"name": kind, "price": 1999, "stock": stock, "perUserLimit": sale.limit, "closesAt": time.Now().Add(3 * time.Hour),
		}
		switch kind {
		case brisk:
			fields["paymentTimeout"] = briskTimeout.String()
			m.brisk = sale
		case toCome:
			fields["opensAt"] = time.Now().Add(time.Hour)
		}
		var created struct {
			SaleID int64 `json:"saleId"`
		}
		if code := m.send(t, http.MethodPost, "/sales", fields, http.StatusCreated, &created); code != "" {
			t.Fatalf("schedule a sale: %s", code)
		}
		m.sales = append(m.sales, sale)
		m.ids[sale] = created.SaleID
	}
	return m
}

func (m *machine) buy(t *rapid.T) {
	sale, quantity := m.drawSale(t), rapid.Int64Range(1, 3).Draw(t, "quantity")
	m.requests++
	o := order{
		sale: m.ids[sale], user: rapid.SampledFrom([]string{"ann", "bob", "eve"}).Draw(t, "user"), quantity: quantity,
		key: fmt.Sprintf("%d-%d", m.ids[m.sales[0]], m.requests),
	}
	refusals := m.refusals(sale, o.user, quantity)
	for deadline := time.Now().Add(gateWithin); ; time.Sleep(20 * time.Millisecond) {
		accepted, err := m.service.buy(t.Context(), m.node(), o)
		if refused, ok := errors.AsType[*problem](err); ok && refused.refusal() {
			if slices.Contains(refusals, refused.Code) {
				return
			}
			if time.Now().Before(deadline) {
				continue
			}
		}
		if err != nil {
			t.Fatalf("%s buys %d: %v; want one of %q", o.user, quantity, err, refusals)
		}
		m.learn(t, sale, o, accepted.RequestID, refusals)
		return
	}
}

// learn asks for the result of a purchase, and buys it again under its key.
func (m *machine) learn(t *rapid.T, sale *modelSale, o order, requestID string, refusals []string) {
	m.at++
	result, err := m.ask(t.Context(), m.node(), requestID, pollWait)
	switch {
	case err != nil:
		t.Fatalf("ask for the result: %v", err)
	case result.Status == succeeded && len(refusals) > 0:
		t.Fatalf("%s won %d; want one of %q", o.user, o.quantity, refusals)
	case result.Status == failed && !slices.Contains(refusals, *result.Reason):
		t.Fatalf("%s lost %d as %s; want one of %q, or an order", o.user, o.quantity, *result.Reason, refusals)
	case !result.decided():
		t.Fatalf("request %s is not decided within %s", requestID, pollWait)
	}
	if result.Status == succeeded {
		m.win(sale, *result.OrderID, o.user, o.quantity)
		if sale == m.brisk {
			m.payBy[m.orders[len(m.orders)-1]] = *result.PayBy
		}
	}
	again, err := m.service.buy(t.Context(), m.node(), o)
	if err != nil || again.RequestID != requestID {
		t.Fatalf("the same again: request %s, %v; want %s", again.RequestID, err, requestID)
	}
}

func (m *machine) pay(t *rapid.T) {
	o := m.drawOrder(t)
	reference := m.drawReference(t)
	m.command(t, o, "pay", map[string]any{"paymentReference": reference}, o.pay(reference))
}

func (m *machine) cancel(t *rapid.T) {
	o := m.drawOrder(t)
	m.command(t, o, "cancel", map[string]any{"userId": o.user}, o.cancel())
}

func (m *machine) refund(t *rapid.T) {
	o := m.drawOrder(t)
	reference, restock := m.drawReference(t), rapid.Bool().Draw(t, "restock")
	m.command(t, o, "refund", map[string]any{"paymentReference": reference, "restock": restock}, o.refund(reference, restock))
}

// command gives a command on an order and compares the answer with the model's.
func (m *machine) command(t *rapid.T, o *modelOrder, command string, fields map[string]any, want string) {
	var shown struct{ Status string }
	got := m.send(t, http.MethodPost, "/orders/"+o.id+"/"+command, fields, http.StatusOK, &shown)
	if payBy, brisk := m.payBy[o]; brisk && time.Now().After(payBy) && o.status != "expired" {
		m.spoiled = true
		return
	}
	if got != want || got == "" && shown.Status != o.status {
		t.Fatalf("%s: %q and the order %s; want %q and %s", command, got, shown.Status, want, o.status)
	}
}

// expire waits until an order expires.
func (m *machine) expire(t *rapid.T) {
	for _, o := range m.orders {
		if m.expiresSoon(o) {
			m.awaitExpiry(t, o)
			return
		}
	}
	t.Skip("no order expires")
}

func (m *machine) expiresSoon(o *modelOrder) bool {
	_, brisk := m.payBy[o]
	return brisk && o.status == "pending_payment"
}

// letExpire waits for the orders that would expire during the next command.
func (m *machine) letExpire(t *rapid.T) {
	for _, o := range m.orders {
		if m.expiresSoon(o) && time.Until(m.payBy[o]) < lastSecond {
			m.awaitExpiry(t, o)
		}
	}
}

func (m *machine) awaitExpiry(t *rapid.T, o *modelOrder) {
	expired := becomes(time.Until(m.payBy[o])+expiredWithin, func() bool {
		var shown struct{ Status string }
		code := m.send(t, http.MethodGet, "/orders/"+o.id, nil, http.StatusOK, &shown)
		return code == "" && shown.Status == "expired"
	})
	if !expired {
		t.Fatalf("order %s is not expired %s after its pay-by time", o.id, expiredWithin)
	}
	o.end("expired", true)
}

func (m *machine) pause(t *rapid.T)  { m.operate(t, "pause", func(s *modelSale) { s.paused = true }) }
func (m *machine) resume(t *rapid.T) { m.operate(t, "resume", func(s *modelSale) { s.paused = false }) }

// close closes a sale, at times: what is closed is boring.
func (m *machine) close(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "close") > 0 {
		t.Skip("not now")
	}
	sale := m.drawSale(t)
	if code := m.send(t, http.MethodPost, m.path(sale, "/close"), nil, http.StatusOK, nil); code != "" {
		t.Fatalf("close: %s", code)
	}
	sale.closed = true
}

// operate gives a command that only a closed sale refuses.
func (m *machine) operate(t *rapid.T, command string, carryOut func(*modelSale)) {
	sale, want := m.drawSale(t), ""
	if sale.closed {
		want = "sale_closed"
	} else {
		carryOut(sale)
	}
	if got := m.send(t, http.MethodPost, m.path(sale, "/"+command), nil, http.StatusOK, nil); got != want {
		t.Fatalf("%s: %q, want %q", command, got, want)
	}
}

// open opens a sale at once that is still to open.
func (m *machine) open(t *rapid.T) {
	sale, want := m.drawSale(t), ""
	switch {
	case sale.closed:
		want = "sale_closed"
	case sale.opened:
		want = "sale_already_open"
	}
	sale.opened = true
	if got := m.send(t, http.MethodPatch, m.path(sale, ""), map[string]any{"opensAt": time.Now().Add(-time.Hour)}, http.StatusOK, nil); got != want {
		t.Fatalf("open: %q, want %q", got, want)
	}
}

func (m *machine) changeStock(t *rapid.T) {
	sale, delta := m.drawSale(t), rapid.Int64Range(-4, 3).Filter(func(delta int64) bool { return delta != 0 }).Draw(t, "delta")
	want := sale.changeStock(delta)
	if got := m.send(t, http.MethodPost, m.path(sale, "/stock"), map[string]any{"delta": delta}, http.StatusOK, nil); got != want {
		t.Fatalf("stock by %d: %q, want %q", delta, got, want)
	}
}

// compare compares what the service shows with the model.
func (m *machine) compare(t *rapid.T) {
	m.letExpire(t)
	m.at++
	for _, sale := range m.sales {
		var shown struct {
			Stock, Available int64
			Status           string
		}
		if code := m.send(t, http.MethodGet, m.path(sale, ""), nil, http.StatusOK, &shown); code != "" {
			t.Fatalf("read a sale: %s", code)
		}
		if m.stoodStill() {
			return
		}
		if shown.Stock != sale.stock || shown.Available != sale.free || shown.Status != sale.status() {
			t.Fatalf("sale %d is %s with %d of %d units free; want %s with %d of %d",
				m.ids[sale], shown.Status, shown.Available, shown.Stock, sale.status(), sale.free, sale.stock)
		}
	}
	for _, o := range m.orders {
		var shown struct {
			Status           string
			Quantity, Amount int64
		}
		if code := m.send(t, http.MethodGet, "/orders/"+o.id, nil, http.StatusOK, &shown); code != "" {
			t.Fatalf("read order %s: %s", o.id, code)
		}
		if m.stoodStill() {
			return
		}
		if shown.Status != o.status || shown.Quantity != o.quantity || shown.Amount != 1999*o.quantity {
			t.Fatalf("order %s is %+v, want %s of %d", o.id, shown, o.status, o.quantity)
		}
	}
}

// stoodStill reports whether an order may have expired that the model has as
// pending. Such a machine proves nothing any more.
func (m *machine) stoodStill() bool {
	for _, o := range m.orders {
		m.spoiled = m.spoiled || m.expiresSoon(o) && time.Now().After(m.payBy[o])
	}
	return m.spoiled
}

func (m *machine) node() *node { return m.nodes[m.at%len(m.nodes)] }

func (m *machine) drawNode(t *rapid.T) { m.at = rapid.IntRange(0, len(m.nodes)-1).Draw(t, "node") }

func (m *machine) drawSale(t *rapid.T) *modelSale {
	m.letExpire(t)
	m.skipIfSpoiled(t)
	m.drawNode(t)
	return m.sales[rapid.IntRange(0, len(m.sales)-1).Draw(t, "sale")]
}

func (m *machine) drawOrder(t *rapid.T) *modelOrder {
	m.letExpire(t)
	m.skipIfSpoiled(t)
	if len(m.orders) == 0 {
		t.Skip("no orders")
	}
	m.drawNode(t)
	return m.orders[rapid.IntRange(0, len(m.orders)-1).Draw(t, "order")]
}

func (m *machine) drawReference(t *rapid.T) string {
	return rapid.SampledFrom([]string{"first", "second"}).Draw(t, "reference")
}

func (m *machine) skipIfSpoiled(t *rapid.T) {
	if m.stoodStill() {
		t.Skip("the machine stood still")
	}
}

func (m *machine) path(sale *modelSale, command string) string {
	return fmt.Sprintf("/sales/%d%s", m.ids[sale], command)
}

// send sends a call. It returns the code of a refusal, or "".
func (m *machine) send(t *rapid.T, method, path string, fields any, want int, into any) string {
	code, err := m.request(t.Context(), m.node(), method, path, fields, want, into)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return code
}

// request sends a call to a node. It returns the code of a refusal, or "" with the
// answer; and an error for what is neither.
func (s *service) request(ctx context.Context, n *node, method, path string, fields any, want int, into any) (code string, err error) {
	ctx, cancel := context.WithTimeout(ctx, pollPatience)
	defer cancel()
	var body []byte
	if fields != nil {
		if body, err = json.Marshal(fields); err != nil {
			return "", err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, n.url(path), bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	if into == nil {
		into = &struct{}{}
	}
	err = s.call(request, want, into)
	if refused, ok := errors.AsType[*problem](err); ok && !refused.passing() {
		return refused.Code, nil
	}
	return "", err
}
