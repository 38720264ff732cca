package browser_test

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// tab is a tab that shares nothing with any other: no storage, no cache.
type tab struct {
	*record

	ctx context.Context
}

// open opens a tab, which is closed with the test. A failed test shows what the
// tab did.
func (c *chromium) open(t *testing.T) *tab {
	t.Helper()
	in := &tab{record: &record{}}
	var end context.CancelFunc
	in.ctx, end = chromedp.NewContext(c.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(in.note))
	t.Cleanup(func() {
		end()
		if t.Failed() {
			t.Logf("the tab recorded:\n%s", in.record)
		}
	})
	begin(t, in.ctx, end)
	return in
}

// do runs an action in a tab and returns what it returns.
func do[T any](t *testing.T, in *tab, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(in.ctx, soon)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatalf("not within %s: %v", soon, err)
	}
	return value
}

// until waits until a function returns something, which is called whenever the
// page changes, and returns that.
func until[T any](t *testing.T, in *tab, function string, arguments ...any) T {
	t.Helper()
	return do(t, in, chromedp.PollFunction[T](function, chromedp.WithPollingArgs(arguments...), chromedp.WithPollingMutation()))
}

// command sends a command to a tab.
func command[P, R any](t *testing.T, in *tab, name cdp.Command[P, R], params P) R {
	t.Helper()
	return do(t, in, func(ctx context.Context, target *chromedp.Target) (R, error) {
		return cdp.Call(ctx, target, name, params)
	})
}

// block keeps requests for URLs of these patterns from leaving the tab. It
// replaces what was blocked before.
func (in *tab) block(t *testing.T, patterns ...string) {
	t.Helper()
	var blocked []*network.BlockPattern
	for _, pattern := range patterns {
		blocked = append(blocked, &network.BlockPattern{URLPattern: pattern, Block: true})
	}
	command(t, in, network.SetBlockedURLs, network.SetBlockedURLsParams{URLPatterns: blocked})
}

// untilRequested runs an action and waits until the tab has requested a URL that
// fits.
func untilRequested[T any](fits func(url string) bool, action chromedp.Action[T]) chromedp.Action[network.EventRequestWillBeSent] {
	return chromedp.WaitEvent(network.RequestWillBeSent, func(event network.EventRequestWillBeSent) bool {
		return fits(event.Request.URL)
	}, action)
}
