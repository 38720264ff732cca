package browser_test

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// doubleClick is the time between the clicks of a double click.
const doubleClick = 300 * time.Millisecond

// testPress presses the button while something happens to the page: it buys once
// all the same. The limit of the sales would allow two.
func (s *shop) testPress(t *testing.T) {
	t.Parallel()

	visit := func(t *testing.T) (p buyersPage, saleID int64) {
		t.Helper()
		saleID = s.schedule(t, sale{PerUserLimit: 2, Stock: 10}).SaleID
		return s.visitSale(t, s.english, saleID), saleID
	}

	t.Run("ReloadWhileFollowing", func(t *testing.T) {
		t.Parallel()
		p, saleID := visit(t)
		release := s.hold(t, saleID)

		do(t, p.tab, untilRequested(isStream, chromedp.Click(buyButton)))
		before := p.await(t, "processing")
		do(t, p.tab, chromedp.Reload())
		after := p.await(t, "processing")
		if after.RequestID == "" || after.RequestID != before.RequestID {
			t.Errorf("the page followed request %q before and %q after it was reloaded", before.RequestID, after.RequestID)
		}
		release()
		p.awaitWin(t, s.service, saleID)
		p.requireOnePurchase(t, s.service, saleID, 1)
	})

	t.Run("ReloadBeforeTheAnswer", func(t *testing.T) {
		t.Parallel()
		p, saleID := visit(t)
		p.suspend(t, "*/purchases", fetch.RequestStageResponse)

		do(t, p.tab, untilSuspended(chromedp.Click(buyButton)))
		do(t, p.tab, untilSuspended(chromedp.Reload()))
		p.resume(t)
		p.awaitWin(t, s.service, saleID)
		p.requireOnePurchase(t, s.service, saleID, 2)
	})

	t.Run("ReloadAfterTheResult", func(t *testing.T) {
		t.Parallel()
		p, saleID := visit(t)

		p.press(t)
		before := p.awaitWin(t, s.service, saleID)
		do(t, p.tab, chromedp.Reload())
		if after := p.awaitWin(t, s.service, saleID); after.OrderID != before.OrderID {
			t.Errorf("the page shows order %s before and %s after it was reloaded", before.OrderID, after.OrderID)
		}
		p.requireOnePurchase(t, s.service, saleID, 1)
	})

	t.Run("ServiceOutOfReach", func(t *testing.T) {
		t.Parallel()
		p, saleID := visit(t)
		p.block(t, "*://*:*/sales/*/purchases")

		p.press(t)
		until[bool](t, p.tab, `() => document.getElementById('outcome-detail').textContent.includes('Trying again')`)
		p.block(t)
		p.awaitWin(t, s.service, saleID)
		if events := s.events(t, saleID); events["PurchaseRequested"] != 1 {
			t.Errorf("the sale has the events %v, want one purchase", events)
		}
	})

	t.Run("DoubleClick", func(t *testing.T) {
		t.Parallel()
		p, saleID := visit(t)

		clicked := time.Now()
		p.clickAt(t, clicked)
		p.clickAt(t, clicked.Add(doubleClick))
		p.awaitWin(t, s.service, saleID)
		p.requireOnePurchase(t, s.service, saleID, 1)
	})

	t.Run("DoubleClickAroundTheResult", func(t *testing.T) {
		t.Parallel()
		p, saleID := visit(t)

		clicked := time.Now()
		p.clickAt(t, clicked)
		first := p.awaitWin(t, s.service, saleID)
		p.clickAt(t, clicked.Add(doubleClick))
		if got := p.await(t, "succeeded"); got.OrderID != first.OrderID {
			t.Errorf("the page shows order %s, and %s after the second click", first.OrderID, got.OrderID)
		}
		p.requireOnePurchase(t, s.service, saleID, 1)

		p.clickAt(t, clicked.Add(2*time.Second))
		if got := p.awaitWin(t, s.service, saleID); got.OrderID == first.OrderID {
			t.Errorf("the page shows order %s also after another press", first.OrderID)
		}
	})
}

// clickAt clicks the button at a moment of the page's time, whenever that is.
func (p buyersPage) clickAt(t *testing.T, at time.Time) {
	t.Helper()
	do(t, p.tab, chromedp.QueryAfter(buyButton, func(ctx context.Context, target *chromedp.Target, nodes []*chromedp.Node) (chromedp.Void, error) {
		return chromedp.MouseClickNode(nodes[0], func(event *input.DispatchMouseEventParams) {
			event.Timestamp = input.TimeSinceEpoch(float64(at.UnixMicro()) / 1e6)
		})(ctx, target)
	}, chromedp.NodeEnabled))
}

// untilSuspended runs an action and waits until the browser holds back something.
func untilSuspended[T any](action chromedp.Action[T]) chromedp.Action[fetch.EventRequestPaused] {
	return chromedp.WaitEvent(fetch.RequestPaused, nil, action)
}
