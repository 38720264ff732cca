package browser_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"seckill/http/auth"
)

// TestBrowser_SignedIn uses the pages of a service that asks who calls.
func TestBrowser_SignedIn(t *testing.T) {
	needChromium(t)
	tokens := auth.Config{
		Audience: "seckill", Issuer: "https://login.example", Logger: slog.New(slog.DiscardHandler), RolesClaim: "roles",
		Secret: "a secret of the tests, long enough",
	}
	s := &shop{
		service: startService(t, "SECKILL_AUTH=jwt", "SECKILL_JWT_SECRET="+tokens.Secret, "SECKILL_JWT_ISSUER="+tokens.Issuer, "SECKILL_JWT_AUDIENCE="+tokens.Audience),
		english: startChromium(t, "en-US"),
	}
	entrance := func(t *testing.T, page, user string, role auth.Role) string {
		t.Helper()
		token, err := auth.Mint(tokens, auth.Caller{User: user, Roles: []auth.Role{role}}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return page + "#token=" + token
	}

	t.Run("Buys", func(t *testing.T) {
		p := s.visit(t, s.english, entrance(t, "/", "ann", auth.Buyer))
		until[bool](t, p.tab, `() => document.getElementById('buyer').disabled && document.getElementById('buyer').value === 'ann'`)
		p.press(t)
		p.await(t, "succeeded")
		if address := do(t, p.tab, chromedp.Evaluate[string](`location.href`)); strings.Contains(address, "token") {
			t.Errorf("the address is still %s", address)
		}
		if streams := p.count("GET", func(url string) bool { return strings.Contains(url, "/events?ticket=") }); streams != 1 {
			t.Errorf("it has followed by %d streams with a ticket, want 1", streams)
		}
	})

	t.Run("NotSignedIn", func(t *testing.T) {
		p := s.visit(t, s.english, "/")
		p.press(t)
		until[bool](t, p.tab, `() => document.getElementById('outcome-detail').textContent === 'Please sign in first.'`)
	})

	t.Run("Operates", func(t *testing.T) {
		in := s.english.open(t)
		do(t, in, chromedp.Navigate(s.url+entrance(t, "/operator/", "op", auth.Operator)))
		until[bool](t, in, `() => document.querySelector('svg polyline, svg path, svg rect') !== null && !location.hash.includes('token')`)
		until[bool](t, in, `() => document.body.innerText.includes('300')`)
	})
}
