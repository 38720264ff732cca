package browser_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// way is one in which the page learns its result.
type way struct {
	method string
	fits   func(url string) bool
}

var (
	isStream   = regexp.MustCompile(`/purchases/[^/]+/events$`).MatchString
	byStream   = way{"GET", isStream}
	bySocket   = way{"WEBSOCKET", regexp.MustCompile(`/purchases/[^/]+/ws$`).MatchString}
	byLongPoll = way{"GET", regexp.MustCompile(`/purchases/[^/]+\?wait=30s$`).MatchString}
	byPolling  = way{"GET", regexp.MustCompile(`/purchases/[^/?]+$`).MatchString}
	ways       = []way{byStream, bySocket, byLongPoll, byPolling}
)

// How to take the ways from a page: patterns to block, and a script for what the
// browser cannot block.
const (
	streams   = `*://*:*/purchases/*/events`
	longPolls = `*://*:*/purchases/*\?wait=*`
	noSockets = `window.WebSocket = class { constructor() { throw new Error('no sockets here'); } };`
)

// testFollow takes the ways away in turn. The service decides nothing until the page
// has turned to the one that it is left with.
func (s *shop) testFollow(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		blocked   []string
		noSockets bool
		silent    bool // streams are not blocked, but nothing arrives
		left      int  // which of the ways
	}{
		"Stream":           {left: 0},
		"NoStream":         {left: 1, blocked: []string{streams}},
		"SilentStream":     {left: 1, silent: true},
		"NothingPushed":    {left: 2, blocked: []string{streams}, noSockets: true},
		"NothingThatWaits": {left: 3, blocked: []string{streams, longPolls}, noSockets: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on := s.schedule(t, sale{Stock: 2})
			p := s.visitSale(t, s.english, on.SaleID)
			p.block(t, test.blocked...)
			if test.noSockets {
				do(t, p.tab, chromedp.Evaluate[chromedp.Void](noSockets))
			}
			if test.silent {
				p.suspend(t, "*/events", fetch.RequestStageRequest)
			}
			release := s.hold(t, on.SaleID)

			p.press(t)
			p.awaitWay(t, ways[test.left])
			p.await(t, "processing")
			release()
			p.awaitWin(t, s.service, on.SaleID)
			for _, unused := range ways[test.left+1:] {
				if p.count(unused.method, unused.fits) > 0 {
					t.Error("the page has used a lesser way than it had to")
				}
			}
			p.requireOnePurchase(t, s.service, on.SaleID, 1)
		})
	}
}

// awaitWay waits until the page has turned to a way.
func (p buyersPage) awaitWay(t *testing.T, to way) {
	t.Helper()
	for deadline := time.Now().Add(soon); p.count(to.method, to.fits) == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: the page turns to %s", soon, to.method)
		}
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

// offline takes the network from a page that is here by a link, or gives it back. What
// browsers emulate by themselves differs between their versions and leaves open streams
// alone, so only what the page is told of the network comes from there.
func (in *tab) offline(t *testing.T, l *link, away bool) {
	t.Helper()
	l.setDown(away)
	command(t, in, network.OverrideNetworkState, network.OverrideNetworkStateParams{
		Offline: away, DownloadThroughput: -1, UploadThroughput: -1,
	})
}
