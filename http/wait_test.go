package http_test

import (
	"context"
	stdhttp "net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A long poll that sees no result answers as things stand after exactly the wait
// that was asked for, and says so if it was asked for by Prefer.
func TestServer_GetPurchase_Wait(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		query, prefer string
		want          time.Duration
		applied       string
	}{
		"None":                     {"", "", 0, ""},
		"Duration":                 {"2s", "", 2 * time.Second, ""},
		"ShortDuration":            {"250ms", "", 250 * time.Millisecond, ""},
		"Seconds":                  {"3", "", 3 * time.Second, ""},
		"Zero":                     {"0", "", 0, ""},
		"Longest":                  {"30s", "", 30 * time.Second, ""},
		"LongestInSeconds":         {"30", "", 30 * time.Second, ""},
		"LongerThanTheLongest":     {"1m", "", 30 * time.Second, ""},
		"SecondsOverTheLongest":    {"31", "", 30 * time.Second, ""},
		"MoreThanADurationHolds":   {"9223372037", "", 30 * time.Second, ""},
		"Prefer":                   {"", "wait=1", time.Second, "wait=1"},
		"PreferLongest":            {"", "wait=60", 30 * time.Second, "wait=30"},
		"PreferAmongOthers":        {"", "respond-async, wait=2; foo=bar", 2 * time.Second, "wait=2"},
		"PreferWithSpaces":         {"", "wait = 2", 2 * time.Second, "wait=2"},
		"PreferInOtherCase":        {"", "Wait=2", 2 * time.Second, "wait=2"},
		"PreferSomethingElse":      {"", "respond-async", 0, ""},
		"PreferIsBeatenByTheQuery": {"2s", "wait=20", 2 * time.Second, ""},
		"PreferIsBeatenByZero":     {"0", "wait=20", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := startMemoryNode(t)
				id := n.accept().RequestID.String()
				asked := time.Now()
				a := n.get(t, "/purchases/"+id+waitQuery(test.query), preferHeader(test.prefer)...)
				if got := time.Since(asked); got != test.want {
					t.Errorf("it waited %s, want %s", got, test.want)
				}
				if p := a.purchase(t, stdhttp.StatusOK); p.RequestID != id || p.Status != "processing" {
					t.Errorf("got %+v", p)
				}
				if got := a.header.Get("Preference-Applied"); got != test.applied {
					t.Errorf("Preference-Applied is %q, want %q", got, test.applied)
				}
				if got := a.header.Get("Vary"); !strings.Contains(got, "Prefer") {
					t.Errorf("Vary is %q, want Prefer in it", got)
				}
				if got := a.header.Get("Cache-Control"); got != "no-store" {
					t.Errorf("Cache-Control is %q", got)
				}
			})
		})
	}
}

func waitQuery(wait string) string {
	if wait == "" {
		return ""
	}
	return "?wait=" + url.QueryEscape(wait)
}

func preferHeader(prefer string) []string {
	if prefer == "" {
		return nil
	}
	return []string{"Prefer: " + prefer}
}

func TestServer_GetPurchase_WaitRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ query, prefer, location string }{
		"Word":                   {"soon", "", "query.wait"},
		"NegativeSeconds":        {"-1", "", "query.wait"},
		"NegativeDuration":       {"-1s", "", "query.wait"},
		"NotANumber":             {"NaN", "", "query.wait"},
		"Infinite":               {"inf", "", "query.wait"},
		"NoUnit":                 {"1h30", "", "query.wait"},
		"TwoNumbers":             {"1 2", "", "query.wait"},
		"Space":                  {" ", "", "query.wait"},
		"QueryBeatsGoodPrefer":   {"soon", "wait=1", "query.wait"},
		"PreferWord":             {"", "wait=soon", "header.Prefer"},
		"PreferNegative":         {"", "wait=-1", "header.Prefer"},
		"PreferNothing":          {"", "wait=", "header.Prefer"},
		"PreferNegativeAmongAll": {"", "respond-async, wait=-1", "header.Prefer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := startMemoryNode(t)
				address := "/purchases/" + n.accept().RequestID.String()
				n.get(t, address+waitQuery(test.query), preferHeader(test.prefer)...).problem(t, 422, "invalid_request").at(t, test.location)
			})
		})
	}
}

// A long poll answers the moment the result is there: not at the next look, and
// not at the end of the wait.
func TestServer_GetPurchase_AnswersAtTheDecision(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := startMemoryNode(t)
		id := n.accept().RequestID
		accepted := time.Now()
		time.AfterFunc(7*time.Second, func() { n.soldOut(id) })

		p := n.get(t, "/purchases/"+id.String()+"?wait=30s").purchase(t, stdhttp.StatusOK)

		if got := time.Since(accepted); got != 7*time.Second {
			t.Errorf("it answered after %s, want 7s", got)
		}
		if p.Status != "failed" || p.Reason != "sold_out" || p.Success == nil || *p.Success {
			t.Errorf("got %+v, want a failure", p)
		}
	})
}

// A waiter that leaves is forgotten, and the others get the result.
func TestServer_GetPurchase_WaiterLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := startMemoryNode(t)
		id := n.accept().RequestID
		address := "/purchases/" + id.String() + "?wait=30s"
		leaving, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := n.try(leaving, stdhttp.MethodGet, address, "")
			left <- err
		}()
		stayed := make(chan answer, 1)
		go func() {
			a, _ := n.try(t.Context(), stdhttp.MethodGet, address, "")
			stayed <- a
		}()
		synctest.Wait()
		if got := n.hub.Waiters(id); got != 2 {
			t.Fatalf("%d wait, want 2", got)
		}

		leave()
		synctest.Wait()

		if err := <-left; err == nil {
			t.Error("the one that left got an answer")
		}
		if got := n.hub.Waiters(id); got != 1 {
			t.Errorf("%d wait, want 1", got)
		}
		n.soldOut(id)
		if p := (<-stayed).purchase(t, stdhttp.StatusOK); p.Status != "failed" {
			t.Errorf("the one that stayed got %+v", p)
		}
		if got := n.hub.Waiters(id); got != 0 {
			t.Errorf("%d wait after the result", got)
		}
	})
}
