package http_test

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	loaded    = regexp.MustCompile(`(?:src|href)\s*=\s*["']([^"']*)["']|@import\s+["']([^"']*)["']|url\(["']?([^"')]*)["']?\)`)
	elsewhere = regexp.MustCompile(`(?i)^(?:[a-z][a-z0-9+.-]*:)?//`)
)

// loads are the addresses from which a page or a style sheet loads something.
func loads(body []byte) []string {
	var addresses []string
	for _, match := range loaded.FindAllSubmatch(body, -1) {
		addresses = append(addresses, string(match[1])+string(match[2])+string(match[3]))
	}
	return addresses
}

// The docs work without the internet: what they load is here.
func TestServer_Docs(t *testing.T) {
	t.Parallel()
	n := serve(t, newServer(t, newHub()))
	page := n.get(t, "/docs/").is(t, 200)
	if !strings.HasPrefix(page.header.Get("Content-Type"), "text/html") {
		t.Errorf("its type is %q", page.header.Get("Content-Type"))
	}
	for _, want := range []string{`"/openapi.json"`, "validatorUrl: null"} {
		if !strings.Contains(string(page.body), want) {
			t.Errorf("the page has no %s", want)
		}
	}
	addresses := loads(page.body)
	if len(addresses) < 3 {
		t.Fatalf("the page loads only %q", addresses)
	}
	for _, address := range addresses {
		if elsewhere.MatchString(address) {
			t.Errorf("the page loads %s", address)
			continue
		}
		asset := n.get(t, address).is(t, 200)
		if !strings.HasSuffix(address, ".css") {
			continue
		}
		for _, inner := range loads(asset.body) {
			if elsewhere.MatchString(inner) {
				t.Errorf("%s loads %s", address, inner)
			}
		}
	}
	if a := n.get(t, "/docs").is(t, 301); a.header.Get("Location") != "/docs/" {
		t.Errorf("/docs leads to %q", a.header.Get("Location"))
	}
}

// The docs run the scripts that they came with, load nothing from elsewhere and
// stand in nobody's frame.
func TestServer_Docs_Policy(t *testing.T) {
	t.Parallel()
	n := serve(t, newServer(t, newHub()))
	page := n.get(t, "/docs/").is(t, 200)
	policy := make(map[string][]string)
	for directive := range strings.SplitSeq(page.header.Get("Content-Security-Policy"), ";") {
		words := strings.Fields(directive)
		policy[words[0]] = words[1:]
	}
	scripts := []string{"'self'"}
	for _, script := range regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllSubmatch(page.body, -1) {
		hash := sha256.Sum256(script[1])
		scripts = append(scripts, "'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+"'")
	}
	if len(scripts) < 2 {
		t.Error("the page has no script of its own: its policy can be that of the other pages")
	}
	want := map[string][]string{
		"base-uri":        {"'none'"},
		"default-src":     {"'self'"},
		"form-action":     {"'self'"},
		"frame-ancestors": {"'none'"},
		"img-src":         {"'self'", "data:"},
		"object-src":      {"'none'"},
		"script-src":      scripts,
		"style-src":       {"'self'", "'unsafe-inline'"},
	}
	if diff := cmp.Diff(want, policy); diff != "" {
		t.Errorf("the policy (-want +got):\n%s", diff)
	}
}

func TestServer_Page(t *testing.T) {
	t.Parallel()
	n := serve(t, newServer(t, newHub()))
	page := n.get(t, "/").is(t, 200)
	for name, want := range map[string]string{"Cache-Control": "no-cache", "Content-Type": "text/html; charset=utf-8"} {
		if got := page.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if policy := page.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'self'") {
		t.Errorf("the page may load from elsewhere: %q", policy)
	}
	n.do(t, "GET", "/", "", "If-None-Match: "+page.header.Get("ETag")).is(t, 304)

	addresses := loads(page.body)
	if len(addresses) < 2 {
		t.Fatalf("the page loads only %q", addresses)
	}
	for _, address := range addresses {
		if !strings.HasPrefix(address, "/assets/") {
			continue // a link to follow
		}
		asset := n.get(t, address).is(t, 200)
		if got := asset.header.Get("Cache-Control"); !strings.Contains(got, "immutable") {
			t.Errorf("%s has the Cache-Control %q, want it kept for ever", address, got)
		}
		parts := strings.Split(address, "/")
		parts[2] = "another-version"
		if got := n.get(t, strings.Join(parts, "/")).is(t, 200).header.Get("Cache-Control"); got != "no-cache" {
			t.Errorf("of another version it has the Cache-Control %q", got)
		}
	}
}
