package http_test

import (
	"context"
	"fmt"
	"log/slog"
	stdhttp "net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"seckill/domain"
	"seckill/http/auth"
	"seckill/postgres/postgrestest"
)

// tokens are what the callers of the tests have.
var tokens = auth.Config{
	Audience: "seckill", Issuer: "https://login.example", Logger: slog.New(slog.DiscardHandler), RolesClaim: "roles",
	Secret: "a secret of the tests, long enough",
}

// startGuarded is a node that asks who calls.
func startGuarded(t *testing.T, config nodeConfig) *node {
	t.Helper()
	var err error
	if config.verifier, err = auth.NewVerifier(t.Context(), tokens); err != nil {
		t.Fatal(err)
	}
	return startNodeOn(t, postgrestest.New(t), config)
}

// bearer is the header of a caller.
func bearer(t *testing.T, user string, roles ...auth.Role) string {
	t.Helper()
	token, err := auth.Mint(tokens, auth.Caller{User: user, Roles: roles}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return "Authorization: Bearer " + token
}

// The callers of the table: nobody, the buyer whom the objects belong to, another one,
// and those who work here.
var callers = []string{"anonymous", "owner", "stranger", "operator", "service"}

func callerHeaders(t *testing.T) map[string][]string {
	t.Helper()
	return map[string][]string{
		"anonymous": nil,
		"owner":     {bearer(t, "owner", auth.Buyer)},
		"stranger":  {bearer(t, "stranger", auth.Buyer)},
		"operator":  {bearer(t, "operator", auth.Operator)},
		"service":   {bearer(t, "service", auth.Service)},
	}
}

// belongings are a purchase of the owner and what came of it.
type belongings struct {
	order   string
	refusal string
	request string
	sale    int64
}

func (n *node) belongings(t *testing.T) belongings {
	t.Helper()
	owner := bearer(t, "owner", auth.Buyer)
	b := belongings{sale: n.sale(t, 10, 5)}
	b.request = n.buy(t, b.sale, `{}`, owner).RequestID
	b.order = n.result(t, b.request, owner).OrderID
	closed := n.pastSale(t)
	submitted := n.post(t, "/seckill/submit", fmt.Sprintf(`{"goodsId":%d}`, closed), owner).envelope(t, stdhttp.StatusOK)
	b.refusal = strings.Trim(string(submitted.Data), `"`)
	return b
}

// right says what an operation answers to each of the callers.
type right struct {
	path func(belongings) string // where it is not the path of the description
	body string
	want map[string]int
}

func statuses(anonymous, owner, stranger, operator, service int) map[string]int {
	return map[string]int{"anonymous": anonymous, "owner": owner, "stranger": stranger, "operator": operator, "service": service}
}

var (
	everybody    = statuses(200, 200, 200, 200, 200)
	ownersThing  = statuses(401, 200, 404, 200, 403) // another's is as if it did not exist
	ownersList   = statuses(401, 200, 403, 200, 403) // which names its owner
	operators    = statuses(401, 403, 403, 200, 403)
	systems      = statuses(401, 403, 403, 200, 200)
	upgradeThing = statuses(401, 426, 404, 426, 403) // as nobody upgrades
)

// rights are those of every operation of the API.
var rights = map[string]right{
	"GET /events":                         {want: systems},
	"GET /healthz":                        {want: everybody},
	"GET /me":                             {want: everybody},
	"GET /metrics":                        {want: systems},
	"GET /orders":                         {path: func(belongings) string { return "/orders?userId=owner" }, want: ownersList},
	"GET /orders/{orderId}":               {want: ownersThing},
	"GET /purchases":                      {path: func(b belongings) string { return fmt.Sprintf("/purchases?userId=owner&saleId=%d", b.sale) }, want: ownersList},
	"GET /purchases/{requestId}":          {want: ownersThing},
	"GET /purchases/{requestId}/events":   {want: ownersThing},
	"GET /purchases/{requestId}/history":  {want: ownersThing},
	"GET /purchases/{requestId}/ws":       {want: upgradeThing},
	"GET /readyz":                         {want: everybody},
	"GET /sales":                          {want: everybody},
	"GET /sales/{saleId}":                 {want: everybody},
	"GET /sales/{saleId}/activity":        {want: operators},
	"GET /sales/{saleId}/events":          {want: everybody},
	"GET /seckill/result/{requestId}":     {want: ownersThing},
	"PATCH /sales/{saleId}":               {body: `{"closesAt":"2099-11-11T22:00:00+08:00"}`, want: operators},
	"POST /orders/{orderId}/cancel":       {body: `{"userId":"owner"}`, want: ownersList},
	"POST /orders/{orderId}/pay":          {body: `{"paymentReference":"wx-1"}`, want: systems},
	"POST /orders/{orderId}/refund":       {body: `{"paymentReference":"wx-1-r"}`, want: statuses(401, 403, 403, 409, 409)}, // it is not paid
	"POST /sales":                         {body: `{"name":"x","stock":1,"closesAt":"2099-11-11T22:00:00+08:00"}`, want: statuses(401, 403, 403, 201, 403)},
	"POST /sales/{saleId}/close":          {want: operators},
	"POST /sales/{saleId}/pause":          {want: operators},
	"POST /sales/{saleId}/purchases":      {body: `{"userId":"owner"}`, want: statuses(401, 202, 403, 403, 403)},
	"POST /sales/{saleId}/resume":         {want: operators},
	"POST /sales/{saleId}/stock":          {body: `{"delta":1}`, want: operators},
	"POST /seckill/submit":                {body: `{"userId":"owner","goodsId":%d}`, want: statuses(401, 202, 403, 403, 403)},
	"GET /purchases/{refusal}":            {want: ownersThing}, // refused at the door, which the description does not tell apart
	"GET /purchases/{refusal}/events":     {want: ownersThing},
	"GET /purchases/{refusal}/history":    {want: ownersThing},
	"GET /purchases/{refusal}/ws":         {want: upgradeThing},
	"GET /seckill/result/{refusal}":       {want: ownersThing},
	"GET /purchases/{requestId}?wait=30s": {want: ownersThing},
}

// TestServer_Rights asks every operation of the description as each of the callers. An
// operation that is not in the table fails it.
func TestServer_Rights(t *testing.T) {
	t.Parallel()
	n := startGuarded(t, nodeConfig{})
	headers := callerHeaders(t)
	for path, item := range n.doc.Paths {
		for method, operation := range map[string]*huma.Operation{"GET": item.Get, "POST": item.Post, "PATCH": item.Patch, "PUT": item.Put, "DELETE": item.Delete} {
			if _, known := rights[method+" "+path]; operation != nil && !known {
				t.Errorf("who may %s %s?", method, path)
			}
		}
	}
	for name, r := range rights {
		t.Run(strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
			t.Parallel()
			for _, caller := range callers {
				b := n.belongings(t)
				method, path, _ := strings.Cut(name, " ")
				path = strings.NewReplacer("{saleId}", fmt.Sprint(b.sale), "{requestId}", b.request, "{orderId}", b.order, "{refusal}", b.refusal).Replace(path)
				if r.path != nil {
					path = r.path(b)
				}
				body := strings.ReplaceAll(r.body, "%d", fmt.Sprint(b.sale))
				got := n.statusOf(t, method, path, body, headers[caller]...)
				if got != r.want[caller] {
					t.Errorf("%s gets %d, want %d", caller, got, r.want[caller])
				}
			}
		})
	}
}

// statusOf is what a call answers first; the answer may be a stream.
func (c *client) statusOf(t *testing.T, method, path, body string, headers ...string) int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if body != "" {
		headers = append([]string{"Content-Type: application/json"}, headers...)
	}
	response, err := c.send(ctx, method, path, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if challenge := response.Header.Get("WWW-Authenticate"); (challenge != "") != (response.StatusCode == stdhttp.StatusUnauthorized) {
		t.Errorf("a %d with the challenge %q", response.StatusCode, challenge)
	}
	return response.StatusCode
}

// Another's object cannot be told from one that does not exist.
func TestServer_Rights_LikeUnknown(t *testing.T) {
	t.Parallel()
	n := startGuarded(t, nodeConfig{})
	b := n.belongings(t)
	stranger := bearer(t, "stranger", auth.Buyer)
	for others, unknown := range map[string]string{
		"/purchases/" + b.request:              "/purchases/01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f",
		"/purchases/" + b.request + "/events":  "/purchases/01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f/events",
		"/purchases/" + b.request + "/history": "/purchases/01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f/history",
		"/purchases/" + b.refusal:              "/purchases/refused-x",
		"/orders/" + b.order:                   "/orders/" + domain.OrderID(1<<30),
		"/seckill/result/" + b.request:         "/seckill/result/01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f",
	} {
		got, want := n.get(t, others, stranger), n.get(t, unknown, stranger)
		if got.status != want.status || string(got.body) != string(want.body) {
			t.Errorf("%s: %d %s, an unknown one: %d %s", others, got.status, got.body, want.status, want.body)
		}
	}
}

// Without a name it is the caller who buys, cancels and asks.
func TestServer_Rights_NoName(t *testing.T) {
	t.Parallel()
	n := startGuarded(t, nodeConfig{})
	b, owner := n.belongings(t), bearer(t, "owner", auth.Buyer)
	if p := n.buy(t, b.sale, `{}`, owner); p.UserID != "owner" {
		t.Errorf("%q has bought", p.UserID)
	}
	n.post(t, "/orders/"+b.order+"/cancel", `{}`, owner).order(t, "cancelled")
	if a := n.get(t, "/orders", owner).is(t, 200); !strings.Contains(string(a.body), b.order) {
		t.Errorf("the owner's orders are %s", a.body)
	}
	n.get(t, "/orders?userId=stranger", owner).problem(t, 403, "forbidden")
	if got := n.get(t, "/me", owner).is(t, 200).fields(t); got["userId"] != "owner" || got["auth"] != "jwt" {
		t.Errorf("it is %v", got)
	}
}

// EventSource and WebSocket come with the ticket of the links, which is for one request
// and its buyer.
func TestServer_Tickets(t *testing.T) {
	t.Parallel()
	n := startGuarded(t, nodeConfig{idle: true})
	owner := bearer(t, "owner", auth.Buyer)
	sale := n.sale(t, 10, 5)
	first := n.post(t, purchases(sale), `{}`, owner).is(t, 202).fields(t)
	links, _ := first["links"].(map[string]any)
	events, _ := links["events"].(string)
	path, ticket, _ := strings.Cut(events, "?ticket=")
	n.openStream(t.Context(), t, events).next()
	receive(t.Context(), t, n.dialSocketAt(t, links["ws"].(string), nil))

	second := n.buy(t, sale, `{}`, owner).RequestID
	for name, address := range map[string]string{
		"NoTicket":       path,
		"AnotherRequest": "/purchases/" + second + "/events?ticket=" + ticket,
		"Changed":        path + "?ticket=" + ticket[:20] + "x" + ticket[21:],
		"NoStream":       strings.TrimSuffix(path, "/events") + "?ticket=" + ticket,
	} {
		t.Run(name, func(t *testing.T) { n.get(t, address).problem(t, 401, "unauthorized") })
	}
	n.get(t, path+"?ticket="+ticket, bearer(t, "stranger", auth.Buyer)).problem(t, 404, "request_not_found")
	forged := auth.NewTickets(secret).Make("stranger", strings.Split(path, "/")[2], time.Now())
	n.get(t, path+"?ticket="+forged).problem(t, 404, "request_not_found") // signed, for a request that is not theirs
}

// A cookie is sent along by the browser, whoever asks it to: not for a page of
// somebody else.
func TestServer_Cookie(t *testing.T) {
	t.Parallel()
	n := startGuarded(t, nodeConfig{origins: []string{"https://shop.example"}})
	sale := n.sale(t, 10, 5)
	cookie := "Cookie: __Host-seckill=" + strings.TrimPrefix(bearer(t, "owner", auth.Buyer), "Authorization: Bearer ")
	for name, test := range map[string]struct {
		headers []string
		status  int
	}{
		"SameOrigin":    {[]string{"Sec-Fetch-Site: same-origin"}, 202},
		"NoBrowser":     {nil, 202},
		"TrustedOrigin": {[]string{"Sec-Fetch-Site: cross-site", "Origin: https://shop.example"}, 202},
		"CrossSite":     {[]string{"Sec-Fetch-Site: cross-site", "Origin: https://evil.example"}, 401},
		"OldBrowser":    {[]string{"Origin: https://evil.example"}, 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n.post(t, purchases(sale), `{}`, append(slices.Clone(test.headers), cookie)...).is(t, test.status)
		})
	}
	n.get(t, "/orders", cookie, "Sec-Fetch-Site: cross-site").is(t, 200) // reading is guarded by the browser
}

// A token that does not count is refused where one is asked for, with the same answer
// whatever is wrong with it; what is for everybody stays so.
func TestServer_InvalidToken(t *testing.T) {
	t.Parallel()
	n := startGuarded(t, nodeConfig{idle: true})
	for _, token := range []string{"Bearer x", "Bearer ", "Basic YTpi", "bearer"} {
		n.get(t, "/orders", "Authorization: "+token).problem(t, 401, "unauthorized")
		n.get(t, "/sales", "Authorization: "+token).is(t, 200)
	}
	recorder := httptest.NewRecorder()
	n.server.Handler().ServeHTTP(recorder, httptest.NewRequest(stdhttp.MethodGet, "/", nil))
	if recorder.Code != stdhttp.StatusOK {
		t.Errorf("the page answers %d", recorder.Code)
	}
}
