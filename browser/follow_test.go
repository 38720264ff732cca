package browser_test

import (
	"regexp"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"
)

// The ways in which the page learns its result, as URLs to wait for and as
// patterns to block them.
var (
	isStream    = regexp.MustCompile(`/purchases/[^/]+/events$`).MatchString
	isLongPoll  = regexp.MustCompile(`/purchases/[^/]+\?wait=30s$`).MatchString
	isShortPoll = regexp.MustCompile(`/purchases/[^/?]+$`).MatchString
	isNone      = func(string) bool { return false }
)

const (
	streams   = `*://*:*/purchases/*/events`
	longPolls = `*://*:*/purchases/*\?wait=*`
)

// testFollow blocks the ways in turn. The service decides nothing until the page
// has turned to the one that it is left with.
func (s *shop) testFollow(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		blocked []string
		silent  bool // streams are not blocked, but nothing arrives
		way     func(url string) bool
		unused  func(url string) bool // the next one
	}{
		"Stream":           {way: isStream, unused: isLongPoll},
		"NoStream":         {way: isLongPoll, unused: isShortPoll, blocked: []string{streams}},
		"SilentStream":     {way: isLongPoll, unused: isShortPoll, silent: true},
		"NothingThatWaits": {way: isShortPoll, unused: isNone, blocked: []string{streams, longPolls}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on := s.schedule(t, sale{Stock: 2})
			p := s.visitSale(t, s.english, on.SaleID)
			p.block(t, test.blocked...)
			if test.silent {
				p.suspend(t, "*/events", fetch.RequestStageRequest)
			}
			release := s.hold(t, on.SaleID)

			do(t, p.tab, untilRequested(test.way, chromedp.Click(buyButton)))
			p.await(t, "processing")
			release()
			p.awaitWin(t, s.service, on.SaleID)
			if p.count("GET", test.unused) > 0 {
				t.Error("the page has used a lesser way than it had to")
			}
			p.requireOnePurchase(t, s.service, on.SaleID, 1)
		})
	}
}

// suspend has the browser hold back requests whose URLs are of a pattern, or
// their answers.
func (in *tab) suspend(t *testing.T, pattern string, stage fetch.RequestStage) {
	t.Helper()
	command(t, in, fetch.Enable, fetch.EnableParams{Patterns: []*fetch.RequestPattern{{RequestStage: stage, URLPattern: pattern}}})
}

// resume lets go of everything that the browser holds back.
func (in *tab) resume(t *testing.T) {
	t.Helper()
	command(t, in, fetch.Disable, cdp.Empty{})
}
