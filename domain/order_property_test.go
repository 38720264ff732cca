package domain_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"seckill/domain"
)

// orderMachine gives one order every command at every moment, in any order, and
// keeps account of the units.
type orderMachine struct {
	events []domain.Event // of the stream
	held   domain.Holding
	id     uuid.UUID
	now    time.Time
	sale   domain.Sale
}

const machineStock = 10

// carryOut records what was decided.
func (m *orderMachine) carryOut(events []domain.Event) {
	for _, event := range events {
		m.events = append(m.events, event)
		m.sale.Apply(event)
		m.held.Apply(m.id, event)
	}
}

func (m *orderMachine) order() domain.Order {
	order, _ := domain.FoldOrder(m.events)
	return order
}

func (m *orderMachine) count(types ...string) int {
	n := 0
	for _, event := range m.events {
		for _, name := range types {
			if event.EventType() == name {
				n++
			}
		}
	}
	return n
}

func (m *orderMachine) check(t *rapid.T) {
	order := m.order()
	if ends := m.count("OrderCancelled", "OrderExpired", "OrderRefunded"); ends > 1 {
		t.Fatalf("it ended %d times: %+v", ends, m.events)
	}
	if m.count("OrderPaid") > 1 {
		t.Fatalf("it was paid twice: %+v", m.events)
	}
	if m.count("OrderPaid") > 0 && m.count("OrderCancelled", "OrderExpired") > 0 {
		t.Fatalf("it was paid though its units were given up: %+v", m.events)
	}
	wantHeld, wantFree := order.Quantity, int64(machineStock-order.Quantity)
	if !order.Held() {
		wantHeld, wantFree = 0, machineStock
	}
	if refunded, ok := m.events[len(m.events)-1].(domain.OrderRefunded); ok && !refunded.Restock {
		wantFree -= int64(order.Quantity)
	}
	if m.held.Quantity != wantHeld || m.sale.Available != wantFree {
		t.Fatalf("%s: the buyer holds %d units, want %d; %d are free, want %d", order.Status, m.held.Quantity, wantHeld, m.sale.Available, wantFree)
	}
}

// An order ends once, its units come back at most once, and a paid order has its
// units (FAULTS 14, 15), whatever is asked of it when, and however often.
func TestOrder_OneEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := orderMachine{
			events: []domain.Event{domain.PurchaseRequested{UserID: "42", Quantity: 2}, confirmed()},
			id:     uuid.UUID{1},
			now:    during,
			sale:   saleOf(machineStock, 5),
		}
		m.sale.Apply(confirmed())
		m.held.Apply(m.id, confirmed())
		references := rapid.SampledFrom([]string{"a", "b"})
		t.Repeat(map[string]func(*rapid.T){
			"": m.check,
			"wait": func(t *rapid.T) {
				m.now = m.now.Add(rapid.SampledFrom([]time.Duration{time.Microsecond, payBy.Sub(m.now), time.Hour}).Draw(t, "wait"))
			},
			"pay": func(t *rapid.T) {
				events, err := m.order().Pay(references.Draw(t, "reference"), nil, m.now)
				if len(events) > 0 && !m.now.Before(payBy) {
					t.Fatalf("paid at %s, after %s", m.now, payBy)
				}
				if err != nil && len(events) > 0 {
					t.Fatalf("refused with %v, yet %+v", err, events)
				}
				m.carryOut(events)
			},
			"cancel": func(*rapid.T) {
				events, _ := m.order().Cancel(m.now)
				m.carryOut(events)
			},
			"expire": func(*rapid.T) { m.carryOut(m.order().Expire(m.now)) },
			"refund": func(t *rapid.T) {
				events, _ := m.order().Refund(references.Draw(t, "reference"), rapid.Bool().Draw(t, "restock"))
				m.carryOut(events)
			},
		})
	})
}

// A command that was carried out changes nothing when it comes again.
func TestOrder_Idempotent(t *testing.T) {
	t.Parallel()
	again := func(o domain.Order, command func(domain.Order) ([]domain.Event, error)) {
		events, err := command(o)
		if err != nil || len(events) != 1 {
			t.Fatalf("%s: got %+v, %v", o.Status, events, err)
		}
		o.Apply(events[0])
		if events, err := command(o); err != nil || len(events) != 0 {
			t.Errorf("%s, again: got %+v, %v, want nothing", o.Status, events, err)
		}
	}
	again(pending, func(o domain.Order) ([]domain.Event, error) { return o.Pay("a", nil, during) })
	again(pending, func(o domain.Order) ([]domain.Event, error) { return o.Cancel(during) })
	again(pending, func(o domain.Order) ([]domain.Event, error) { return o.Expire(payBy), nil })
	again(paid, func(o domain.Order) ([]domain.Event, error) { return o.Refund("a", true) })
}
