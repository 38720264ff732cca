package browser_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// record is what a tab has done.
type record struct {
	mu       sync.Mutex
	requests []request
	troubles []string
}

// request is a request that a tab has sent, or tried to.
type request struct{ method, url string }

// note notes an event of the browser. Violations of a page's content security
// policy are among the entries of the log.
func (r *record) note(event any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch event := event.(type) {
	case *network.EventRequestWillBeSent:
		r.requests = append(r.requests, request{event.Request.Method, event.Request.URL})
	case *network.EventWebSocketCreated:
		r.requests = append(r.requests, request{"WEBSOCKET", event.URL})
	case *log.EventEntryAdded:
		r.troubles = append(r.troubles, fmt.Sprintf("%s: %s %s", event.Entry.Source, event.Entry.Text, event.Entry.URL))
	case *runtime.EventConsoleAPICalled:
		for _, argument := range event.Args {
			r.troubles = append(r.troubles, fmt.Sprintf("console.%s: %s%s", event.Type, argument.Value, argument.Description))
		}
	case *runtime.EventExceptionThrown:
		r.troubles = append(r.troubles, (&chromedp.ExceptionError{ExceptionDetails: event.ExceptionDetails}).Error())
	}
}

// count counts the requests by a method for URLs that fit.
func (r *record) count(method string, fits func(url string) bool) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := 0
	for _, sent := range r.requests {
		if sent.method == method && fits(sent.url) {
			count++
		}
	}
	return count
}

// wrong lists what a page should not have done: whatever is in the console, and
// requests to elsewhere than its origin.
func (r *record) wrong(origin string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	wrong := slices.Clone(r.troubles)
	for _, sent := range r.requests {
		if !strings.HasPrefix(strings.Replace(sent.url, "ws://", "http://", 1), origin+"/") && !strings.HasPrefix(sent.url, "data:") {
			wrong = append(wrong, "elsewhere: "+sent.url)
		}
	}
	return wrong
}

// String lists everything.
func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var text strings.Builder
	for _, sent := range r.requests {
		fmt.Fprintln(&text, sent.method, sent.url)
	}
	for _, trouble := range r.troubles {
		fmt.Fprintln(&text, trouble)
	}
	return text.String()
}
