package http_test

import (
	stdhttp "net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"seckill/http"
	"seckill/postgres/postgrestest"
)

// Pages of the origins that are named may use the API, from the module to the
// stream and the socket; those of others may not.
func TestServer_Origins(t *testing.T) {
	t.Parallel()
	const shop, thief = "https://shop.example", "https://thief.example"
	n := startNodeOn(t, postgrestest.New(t), nodeConfig{origins: []string{shop}})
	sale := n.sale(t, 10, 1)
	allowed := func(method, path, origin string, headers ...string) (stdhttp.Header, int) {
		t.Helper()
		a, err := n.try(t.Context(), method, path, "", append(headers, "Origin: "+origin)...)
		if err != nil {
			t.Fatal(err)
		}
		return a.header, a.status
	}

	preflight := []string{"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type,idempotency-key"}
	header, status := allowed(stdhttp.MethodOptions, purchases(sale), shop, preflight...)
	if status != stdhttp.StatusNoContent || header.Get("Access-Control-Allow-Origin") != shop ||
		!strings.Contains(strings.ToLower(header.Get("Access-Control-Allow-Headers")), "idempotency-key") || header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("the preflight answers %d %v", status, header)
	}
	if header, _ := allowed(stdhttp.MethodOptions, purchases(sale), thief, preflight...); header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("the preflight of a thief answers %v", header)
	}
	p := n.buy(t, sale, by("42"), "Origin: "+shop)
	for _, path := range []string{"/seckill.js", "/purchases/" + p.RequestID, "/purchases/" + p.RequestID + "/events"} {
		if header, status := allowed(stdhttp.MethodGet, path, shop); status != stdhttp.StatusOK || header.Get("Access-Control-Allow-Origin") != shop {
			t.Errorf("%s answers %d %v", path, status, header)
		}
		if header, _ := allowed(stdhttp.MethodGet, path, thief); header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s answers %v to a thief", path, header)
		}
	}

	n.dialSocket(t, p.RequestID, stdhttp.Header{"Origin": {shop}})
	if _, response, err := websocket.Dial(t.Context(), n.base+"/purchases/"+p.RequestID+"/ws",
		&websocket.DialOptions{HTTPClient: n.http, HTTPHeader: stdhttp.Header{"Origin": {thief}}}); err == nil || response.StatusCode != stdhttp.StatusForbidden {
		t.Errorf("the socket of a thief: %v", err)
	}
}

func TestCheckOrigin(t *testing.T) {
	t.Parallel()
	for origin, valid := range map[string]bool{
		"https://shop.example": true, "http://localhost:3000": true, "http://127.0.0.1:8080": true,
		"": false, "*": false, "https://*.example": false, "shop.example": false, "https://shop.example/": false,
		"https://shop.example/page": false, "ftp://shop.example": false, "https://Shop.example": false, "https://": false, "null": false,
	} {
		if err := http.CheckOrigin(origin); (err == nil) != valid {
			t.Errorf("CheckOrigin(%q) = %v", origin, err)
		}
	}
}
