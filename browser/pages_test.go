package browser_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// testPages uses the pages: they load everything from the service, have nothing to
// complain about in the console, and obey their content security policy.
func (s *shop) testPages(t *testing.T) {
	t.Parallel()
	c := s.english

	t.Run("Buyers", func(t *testing.T) {
		t.Parallel()
		p := s.visit(t, c, "/")
		p.press(t)
		p.awaitWin(t, s.service, s.demo.SaleID)
		p.requireClean(t, s.url)
	})

	t.Run("Docs", func(t *testing.T) {
		t.Parallel()
		in := c.open(t)
		do(t, in, chromedp.Navigate(s.url+"/docs"))
		shown := until[int](t, in, `() => document.querySelectorAll('.opblock').length`)
		if want := s.operations(t); shown != want {
			t.Errorf("the page shows %d operations, the API has %d", shown, want)
		}

		const operation = "#operations-sales-get-sale " // its address is filled in, else nothing would be sent
		in.click(t, operation+".opblock-summary-control")
		in.click(t, operation+".try-out__btn")
		in.click(t, operation+".execute")
		until[bool](t, in, `(row) => {
			const answer = document.querySelector(row)?.innerText;
			return answer?.startsWith('200') && answer.includes('"saleId": 1001');
		}`, operation+".live-responses-table .response")
		in.requireClean(t, s.url)
	})

	// What is never seen would not be missed.
	t.Run("WhatIsWrongIsSeen", func(t *testing.T) {
		t.Parallel()
		p := s.visit(t, c, "/")
		for script, want := range map[string]string{
			`console.error('a complaint')`:                          "a complaint",
			`fetch('/nowhere')`:                                     "404",
			`setTimeout(() => { throw new Error('an exception') })`: "an exception",
			`document.head.append(Object.assign(document.createElement('script'), { text: '"in"' }))`: "Content Security Policy",
		} {
			do(t, p.tab, untilComplaint(chromedp.Evaluate[chromedp.Void](script)))
			p.catchUp(t)
			if wrong := p.wrong(s.url); !strings.Contains(wrong[len(wrong)-1], want) {
				t.Errorf("after %s: %q, want the last to be of %s", script, wrong, want)
			}
		}

		blank := c.open(t)
		do(t, blank, untilRequested(
			func(url string) bool { return url == "http://elsewhere.test/" },
			chromedp.Evaluate[chromedp.Void](`new Image().src = 'http://elsewhere.test/'`),
		))
		blank.catchUp(t)
		if wrong := blank.wrong(s.url); len(wrong) == 0 {
			t.Error("a request to elsewhere was not seen")
		}
	})
}

// untilComplaint runs an action and waits until something is in the console.
func untilComplaint[T any](action chromedp.Action[T]) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		messages := chromedp.Console(ctx)
		if _, err := action(ctx, target); err != nil {
			return err
		}
		for _, err := range messages {
			return err
		}
		return ctx.Err()
	})
}

// click clicks an element as soon as it is there.
func (in *tab) click(t *testing.T, selector string) {
	t.Helper()
	until[bool](t, in, `(selector) => {
		const element = document.querySelector(selector);
		return element && (element.click(), true);
	}`, selector)
}

// requireClean fails the test if the tab has done anything that a page should not.
func (in *tab) requireClean(t *testing.T, origin string) {
	t.Helper()
	in.catchUp(t)
	for _, wrong := range in.wrong(origin) {
		t.Error(wrong)
	}
}

// catchUp returns once everything that has happened in the tab is in its record:
// the browser tells of it before it answers.
func (in *tab) catchUp(t *testing.T) {
	t.Helper()
	do(t, in, chromedp.Evaluate[chromedp.Void]("0"))
}

// operations counts the operations in the API's description.
func (s *service) operations(t *testing.T) int {
	t.Helper()
	var description struct {
		Paths map[string]map[string]json.RawMessage
	}
	s.call(t, http.MethodGet, "/openapi.json", nil, &description)
	count := 0
	for _, operations := range description.Paths {
		count += len(operations)
	}
	return count
}
