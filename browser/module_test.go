package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// testModule uses /seckill.js as a page of somebody else does.
func (s *shop) testModule(t *testing.T) {
	t.Parallel()

	// result is what the module answers, once it does.
	result := func(t *testing.T, in *tab) purchase {
		t.Helper()
		return until[purchase](t, in, `() => window.answer`)
	}
	use := func(t *testing.T, in *tab, script string, arguments ...any) {
		t.Helper()
		do(t, in, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`
			import('/seckill.js').then(async (seckill) => {
				window.told = [];
				const progress = (step) => {
					window.told.push(step.purchase ? 'accepted' : 'sending');
					document.body.append('.'); // for whoever waits for a change
				};
				window.answer = await (`+script+`);
			}).catch((error) => { window.answer = { status: 'error', reason: error.code }; })
				.finally(() => document.body.append('.'));`, arguments...)))
	}
	by := func(t *testing.T, service string) *tab {
		t.Helper()
		in := s.english.open(t)
		// A page without anything; the policy that comes with it is for what is no page.
		command(t, in, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: true})
		do(t, in, chromedp.Navigate(service+"/healthz"))
		return in
	}
	elsewhere := func(t *testing.T) *tab {
		t.Helper()
		return by(t, s.url)
	}

	t.Run("Buys", func(t *testing.T) {
		t.Parallel()
		on, in := s.schedule(t, sale{Stock: 2}), elsewhere(t)
		use(t, in, `seckill.buy(%d, { userId: 'x', progress })`, on.SaleID)
		if got := result(t, in); got.Status != "succeeded" || got.OrderID == "" {
			t.Errorf("got %+v", got)
		}
		if got := do(t, in, chromedp.Evaluate[string](`told.join()`)); got != "sending,accepted" {
			t.Errorf("it told of %s", got)
		}
	})

	t.Run("IsRefused", func(t *testing.T) {
		t.Parallel()
		on, in := s.schedule(t, sale{Stock: 2}), elsewhere(t)
		s.call(t, http.MethodPost, fmt.Sprintf("/sales/%d/close", on.SaleID), nil, &struct{}{})
		use(t, in, `seckill.buy(%d, { userId: 'x' })`, on.SaleID)
		if got := result(t, in); got.Status != "error" || got.Reason != "sale_closed" {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("SurvivesAReload", func(t *testing.T) {
		t.Parallel()
		on, in := s.schedule(t, sale{Stock: 2, PerUserLimit: 2}), elsewhere(t)
		release := s.hold(t, on.SaleID)
		use(t, in, `seckill.buy(%d, { userId: 'x', progress })`, on.SaleID)
		until[bool](t, in, `() => window.told?.includes('accepted')`)
		do(t, in, chromedp.Reload())
		use(t, in, `seckill.resume({ progress })`)
		release()
		if got := result(t, in); got.Status != "succeeded" {
			t.Errorf("got %+v", got)
		}
		if requested := s.events(t, on.SaleID)["PurchaseRequested"]; requested != 1 {
			t.Errorf("%d purchases were requested, want 1", requested)
		}
	})

	// The network is away while the purchase is decided.
	t.Run("SurvivesBeingOffline", func(t *testing.T) {
		t.Parallel()
		on, link := s.schedule(t, sale{Stock: 2}), startLink(t, s.url)
		in := by(t, link.url)
		release := s.hold(t, on.SaleID)
		use(t, in, `seckill.buy(%d, { userId: 'x', progress })`, on.SaleID)
		until[bool](t, in, `() => window.told?.includes('accepted')`)
		in.offline(t, link, true)
		release()
		for deadline := time.Now().Add(soon); s.events(t, on.SaleID)["PurchaseConfirmed"] == 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the purchase is not decided")
			}
		}
		time.Sleep(500 * time.Millisecond) // a push would have come long ago
		if do(t, in, chromedp.Evaluate[bool](`window.answer !== undefined`)) {
			t.Error("the page knows the result while it is offline")
		}
		in.offline(t, link, false)
		if got := result(t, in); got.Status != "succeeded" {
			t.Errorf("got %+v", got)
		}
	})

	// The answer to the POST is lost: the same key finds the purchase again.
	t.Run("RecoversALostAnswer", func(t *testing.T) {
		t.Parallel()
		on, in := s.schedule(t, sale{Stock: 2, PerUserLimit: 2}), elsewhere(t)
		do(t, in, chromedp.Evaluate[chromedp.Void](`
			const original = window.fetch;
			let lost = 0;
			window.fetch = async (...request) => {
				const response = await original(...request);
				if (request[1].method === 'POST' && lost++ < 2) throw new TypeError('lost');
				return response;
			};`))
		use(t, in, `seckill.buy(%d, { userId: 'x' })`, on.SaleID)
		if got := result(t, in); got.Status != "succeeded" {
			t.Errorf("got %+v", got)
		}
		if requested := s.events(t, on.SaleID)["PurchaseRequested"]; requested != 1 {
			t.Errorf("%d purchases were requested, want 1", requested)
		}
		if posts := in.count("POST", func(url string) bool { return strings.HasSuffix(url, "/purchases") }); posts != 3 {
			t.Errorf("it has posted %d times, want 3", posts)
		}
	})
}
