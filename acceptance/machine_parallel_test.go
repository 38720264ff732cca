package acceptance_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// press is a purchase that somebody in a crowd makes, and what becomes of its order.
type press struct {
	sale     int
	quantity int64
	ending   []string
	restock  bool
}

// nudge is what the operator does meanwhile.
type nudge struct {
	sale    int
	command string
	delta   int64
}

// TestMachine_Parallel lets some buyers and an operator give random commands at the
// same time. Nobody can say then which purchase finds the sale paused or sold out.
// But a buyer's holdings and orders depend on nobody else, and in the end it does not
// matter in which order units went and came back: the model knows how many are left.
func TestMachine_Parallel(t *testing.T) {
	s := startService(t, 2)
	boundChecks(t)
	rapid.Check(t, func(t *rapid.T) {
		crowd := &parallelMachine{machine: newMachine(t, s, common, common)}
		presses := rapid.SliceOfN(rapid.Custom(drawPress), 1, 8)
		var running sync.WaitGroup
		for _, user := range []string{"ann", "bob", "eve", "kim"} {
			mine := presses.Draw(t, user)
			running.Go(func() { crowd.report(crowd.buyAll(t.Context(), user, mine)) })
		}
		nudges := rapid.SliceOfN(rapid.Custom(drawNudge), 0, 8).Draw(t, "operator")
		running.Go(func() { crowd.report(crowd.nudgeAll(t.Context(), nudges)) })
		running.Wait()
		if crowd.err != nil {
			t.Fatal(crowd.err)
		}
		for _, sale := range crowd.sales {
			if sale.free < 0 {
				t.Fatalf("%d units more were sold of sale %d than there were", -sale.free, crowd.ids[sale])
			}
		}
		crowd.compare(t)
	})
	s.conclude(t)
}

func drawPress(t *rapid.T) press {
	return press{
		sale:     rapid.IntRange(0, 1).Draw(t, "sale"),
		quantity: rapid.Int64Range(1, 3).Draw(t, "quantity"),
		ending:   rapid.SampledFrom(endings).Draw(t, "ending"),
		restock:  rapid.Bool().Draw(t, "restock"),
	}
}

func drawNudge(t *rapid.T) nudge {
	return nudge{
		sale:    rapid.IntRange(0, 1).Draw(t, "sale"),
		command: rapid.SampledFrom([]string{"pause", "resume", "stock", "stock"}).Draw(t, "command"),
		delta:   rapid.SampledFrom([]int64{-3, -1, 1, 2}).Draw(t, "delta"),
	}
}

// parallelMachine shares a machine's model among goroutines.
type parallelMachine struct {
	*machine

	mu    sync.Mutex
	err   error // the first
	calls int
}

func (p *parallelMachine) report(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
}

// anyNode is one after the other.
func (p *parallelMachine) anyNode() *node {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	return p.nodes[p.calls%len(p.nodes)]
}

// buyAll makes a buyer's purchases one after the other.
func (p *parallelMachine) buyAll(ctx context.Context, user string, presses []press) error {
	for _, press := range presses {
		won, err := p.press(ctx, user, press)
		if err != nil {
			return fmt.Errorf("%s, %+v: %w", user, press, err)
		}
		if won == nil {
			continue
		}
		for _, command := range press.ending {
			if err := p.end(ctx, won, command, press.restock); err != nil {
				return fmt.Errorf("%s, %+v, %s: %w", user, press, command, err)
			}
		}
	}
	return nil
}

// press buys, and returns the order if it is won.
func (p *parallelMachine) press(ctx context.Context, user string, press press) (*modelOrder, error) {
	sale := p.sales[press.sale]
	accepted, err := p.service.buy(ctx, p.anyNode(), order{sale: p.ids[sale], user: user, quantity: press.quantity})
	if refused, ok := errors.AsType[*problem](err); ok && refused.refusal() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	result, err := p.ask(ctx, p.anyNode(), accepted.RequestID, pollWait)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	tooMuch := slices.Contains(p.refusals(sale, user, press.quantity), "limit_exceeded")
	switch {
	case !result.decided():
		return nil, fmt.Errorf("request %s is not decided within %s", accepted.RequestID, pollWait)
	case result.Status == succeeded && tooMuch:
		return nil, errors.New("won more than a buyer may have")
	case result.Status == failed && *result.Reason == "limit_exceeded" && !tooMuch:
		return nil, errors.New("lost as limit_exceeded, with room up to the limit")
	case result.Status == failed:
		return nil, nil
	}
	p.win(sale, *result.OrderID, user, press.quantity)
	return p.orders[len(p.orders)-1], nil
}

// end gives a command on an order of the buyer's own.
func (p *parallelMachine) end(ctx context.Context, o *modelOrder, command string, restock bool) error {
	fields := map[string]any{"userId": o.user}
	switch command {
	case byPay:
		fields = map[string]any{"paymentReference": "payment"}
	case byRefund:
		fields = map[string]any{"paymentReference": "refund", "restock": restock}
	}
	var shown struct{ Status string }
	got, err := p.request(ctx, p.anyNode(), http.MethodPost, "/orders/"+o.id+"/"+command, fields, http.StatusOK, &shown)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	want := ""
	switch command {
	case byPay:
		want = o.pay("payment")
	case byRefund:
		want = o.refund("refund", restock)
	case byCancel:
		want = o.cancel()
	}
	if got != want || got == "" && shown.Status != o.status {
		return fmt.Errorf("%q and the order %s; want %q and %s", got, shown.Status, want, o.status)
	}
	return nil
}

// nudgeAll gives the operator's commands. Whether units are free to be removed, the
// service has to say.
func (p *parallelMachine) nudgeAll(ctx context.Context, nudges []nudge) error {
	for _, nudge := range nudges {
		sale := p.sales[nudge.sale]
		var fields any
		if nudge.command == "stock" {
			fields = map[string]any{"delta": nudge.delta}
		}
		code, err := p.request(ctx, p.anyNode(), http.MethodPost, p.path(sale, "/"+nudge.command), fields, http.StatusOK, nil)
		if err != nil {
			return err
		}
		if code != "" && (code != "stock_not_available" || nudge.delta > 0) {
			return fmt.Errorf("%+v: %s", nudge, code)
		}
		if code == "" {
			p.carryOut(sale, nudge)
		}
	}
	return nil
}

func (p *parallelMachine) carryOut(sale *modelSale, nudge nudge) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch nudge.command {
	case "pause":
		sale.paused = true
	case "resume":
		sale.paused = false
	case "stock":
		sale.stock, sale.free = sale.stock+nudge.delta, sale.free+nudge.delta
	}
}
