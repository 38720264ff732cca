package browser_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

const (
	// rememberOutcomes is a script that keeps the states of the outcome in their
	// order: some are too short to be seen from here.
	rememberOutcomes = `
		window.outcomes = [];
		new MutationObserver(() => {
			const { state } = document.getElementById('outcome').dataset;
			if (state !== outcomes.at(-1)) outcomes.push(state);
		}).observe(document, { attributeFilter: ['data-state'], subtree: true });`

	// readPage is a function that returns what the page shows, null unless the
	// outcome is in the given state.
	readPage = `(state) => {
		const words = (id) => {
			const element = document.getElementById(id);
			return element.checkVisibility() ? element.textContent : '';
		};
		return document.getElementById('outcome').dataset.state === state && {
			button: words('buy'),
			countdown: words('countdown'),
			detail: words('outcome-detail'),
			disabled: document.getElementById('buy').disabled,
			existingOrderId: words('existing-order-id'),
			language: document.documentElement.lang,
			orderId: words('order-id'),
			outcomes: [...outcomes],
			requestId: words('request-id'),
			state: words('state'),
			stock: document.getElementById('stock').parentElement.textContent,
			title: words('outcome-title'),
		};
	}`
)

var buyButton = chromedp.CSS("#buy")

// buyersPage is the buyers' page in a tab.
type buyersPage struct{ *tab }

// shown is what the page shows.
type shown struct {
	Button          string   `json:"button"`
	Countdown       string   `json:"countdown"`
	Detail          string   `json:"detail"`
	Disabled        bool     `json:"disabled"` // the button is
	ExistingOrderID string   `json:"existingOrderId"`
	Language        string   `json:"language"`
	OrderID         string   `json:"orderId"`
	Outcomes        []string `json:"outcomes"` // all so far, since the page was loaded
	RequestID       string   `json:"requestId"`
	State           string   `json:"state"` // of the sale
	Stock           string   `json:"stock"`
	Title           string   `json:"title"`
}

// visit opens the buyers' page and waits until it shows a sale.
func (s *service) visit(t *testing.T, c *chromium, path string) buyersPage {
	t.Helper()
	p := buyersPage{c.open(t)}
	command(t, p.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: rememberOutcomes})
	do(t, p.tab, chromedp.Steps(chromedp.Navigate(s.url+path), chromedp.WaitVisible(chromedp.CSS("#sale"))))
	return p
}

// visitSale opens the page of a sale.
func (s *service) visitSale(t *testing.T, c *chromium, saleID int64) buyersPage {
	t.Helper()
	return s.visit(t, c, fmt.Sprintf("/?sale=%d", saleID))
}

// press presses the button, as soon as it can be pressed.
func (p buyersPage) press(t *testing.T) {
	t.Helper()
	do(t, p.tab, chromedp.Click(buyButton, chromedp.NodeEnabled))
}

// await waits until the outcome is in a state and returns what the page shows.
func (p buyersPage) await(t *testing.T, state string) shown {
	t.Helper()
	return until[shown](t, p.tab, readPage, state)
}

// awaitWin waits until the purchase has succeeded, and fails the test unless the
// page shows the order that the service has.
func (p buyersPage) awaitWin(t *testing.T, s *service, saleID int64) shown {
	t.Helper()
	got := p.await(t, "succeeded")
	kept := s.order(t, got.OrderID)
	if kept.OrderID != got.OrderID || kept.RequestID != got.RequestID || kept.SaleID != saleID || kept.Status != "pending_payment" {
		t.Errorf("the page shows order %q of request %q, the service has %+v", got.OrderID, got.RequestID, kept)
	}
	return got
}

// awaitButton waits until the button says this and returns what the page shows.
func (p buyersPage) awaitButton(t *testing.T, words string) shown {
	t.Helper()
	until[bool](t, p.tab, "(words) => document.getElementById('buy').textContent === words", words)
	return p.await(t, do(t, p.tab, chromedp.Evaluate[string]("document.getElementById('outcome').dataset.state")))
}

// buyer is the name that the page buys for.
func (p buyersPage) buyer(t *testing.T) string {
	t.Helper()
	return do(t, p.tab, chromedp.Evaluate[string]("document.getElementById('buyer').value"))
}

// rename types another name over the buyer's.
func (p buyersPage) rename(t *testing.T, name string) {
	t.Helper()
	field := chromedp.CSS("#buyer")
	do(t, p.tab, chromedp.Steps(
		chromedp.Evaluate[chromedp.Void]("document.getElementById('buyer').select()"),
		chromedp.SendKeys(field, name),
	))
}

// awaitPhase waits until the page says this of the sale.
func (p buyersPage) awaitPhase(t *testing.T, words string) {
	t.Helper()
	until[bool](t, p.tab, "(words) => document.getElementById('state').textContent === words", words)
}

// requireOnePurchase fails the test unless the page has sent so many posts, and
// the service has decided one purchase of the sale.
func (p buyersPage) requireOnePurchase(t *testing.T, s *service, saleID int64, posts int) {
	t.Helper()
	if got := p.count("POST", isPurchase); got != posts {
		t.Errorf("the page has posted %d times, want %d", got, posts)
	}
	events := s.events(t, saleID)
	if events["PurchaseRequested"] != 1 || events["PurchaseConfirmed"] != 1 || events["PurchaseRejected"] != 0 {
		t.Errorf("the sale has the events %v, want one purchase", events)
	}
}

// went reports whether the outcome went through these states.
func (s shown) went(states ...string) bool { return slices.Equal(s.Outcomes, states) }

func isPurchase(url string) bool { return strings.HasSuffix(url, "/purchases") }
