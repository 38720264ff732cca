package http_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	stdhttp "net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"seckill/http"
)

// client calls a server, and checks of every answer what holds for all of them.
type client struct {
	base string
	doc  *huma.OpenAPI
	http *stdhttp.Client
}

func newClient(t *testing.T, server *http.Server, base string, dial func(context.Context, string, string) (net.Conn, error)) *client {
	t.Helper()
	transport := &stdhttp.Transport{DialContext: dial, MaxIdleConnsPerHost: 1000}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{
		base: base,
		doc:  server.OpenAPI(),
		http: &stdhttp.Client{
			CheckRedirect: func(*stdhttp.Request, []*stdhttp.Request) error { return stdhttp.ErrUseLastResponse },
			Timeout:       time.Minute, // longer than anything is held
			Transport:     transport,
		},
	}
}

// answer is what a server said.
type answer struct {
	status int
	header stdhttp.Header
	body   []byte
}

func (c *client) get(t *testing.T, path string, headers ...string) answer {
	t.Helper()
	return c.do(t, stdhttp.MethodGet, path, "", headers...)
}

// post sends a body as JSON, unless a header says what else it is.
func (c *client) post(t *testing.T, path, body string, headers ...string) answer {
	t.Helper()
	return c.do(t, stdhttp.MethodPost, path, body, append([]string{"Content-Type: application/json"}, headers...)...)
}

// patch is post with another method.
func (c *client) patch(t *testing.T, path, body string, headers ...string) answer {
	t.Helper()
	return c.do(t, stdhttp.MethodPatch, path, body, append([]string{"Content-Type: application/json"}, headers...)...)
}

// do sends a request and returns the whole answer. A header is "Name: value"; the
// last of a name counts.
func (c *client) do(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	a, err := c.try(t.Context(), method, path, body, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// try is do for other goroutines than the test's.
func (c *client) try(ctx context.Context, method, path, body string, headers ...string) (answer, error) {
	response, err := c.send(ctx, method, path, body, headers...)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, fmt.Errorf("read the answer of %s %s: %w", method, path, err)
	}
	a := answer{status: response.StatusCode, header: response.Header, body: content}
	if err := c.check(method, path, a); err != nil {
		return a, fmt.Errorf("%s %s answered %d %s: %w", method, path, a.status, content, err)
	}
	return a, nil
}

// send sends a request and leaves the answer's body to the caller.
func (c *client) send(ctx context.Context, method, path, body string, headers ...string) (*stdhttp.Response, error) {
	request, err := stdhttp.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, header := range headers {
		name, value, ok := strings.Cut(header, ": ")
		if !ok {
			return nil, fmt.Errorf("header %q is not of the form Name: value", header)
		}
		request.Header.Set(name, value)
	}
	return c.http.Do(request)
}

// internalWords give away what the service is made of.
var internalWords = []string{
	".go:", "2006-01-02", "Go struct", "Go value", "SQLSTATE", "goroutine", "huma", "json:", "nil pointer", "panic", "pgx",
	"sql", "strconv", "unmarshal",
}

// signedText is a request ID or a ticket that is signed, in which any word can come up by chance.
var signedText = regexp.MustCompile(`refused-[\w-]+|ticket=[\w-]+`)

// check returns an error unless the answer is as the API's description says, and
// as every answer has to be.
func (c *client) check(method, path string, a answer) error {
	if err := guarded(a.header); err != nil {
		return err
	}
	operation := findOperation(c.doc, method, path)
	if operation == nil || a.status == stdhttp.StatusRequestURITooLong || a.status == stdhttp.StatusRequestHeaderFieldsTooLarge {
		return nil // the pages, an address that does not exist, or one that was not looked for
	}
	said := signedText.ReplaceAll(a.body, nil)
	for _, word := range internalWords {
		if bytes.Contains(said, []byte(word)) {
			return fmt.Errorf("the word %q is not for clients", word)
		}
	}
	response := operation.Responses[strconv.Itoa(a.status)]
	if response == nil {
		return fmt.Errorf("status %d is not in the description", a.status)
	}
	mediaType, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	content := response.Content[mediaType]
	switch {
	case len(a.body) == 0 && len(response.Content) == 0:
		return nil
	case content == nil:
		return fmt.Errorf("the type %q is not in the description", mediaType)
	case strings.HasSuffix(mediaType, "json"):
		return matches(c.doc.Components.Schemas, content, a.body)
	default:
		return nil
	}
}

// guarded returns an error unless the header says what browsers must not do with the
// answer, and nothing of what the service is made of.
func guarded(header stdhttp.Header) error {
	for name, want := range map[string]string{
		"Content-Security-Policy":      "frame-ancestors 'none'",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy":              "",
		"X-Content-Type-Options":       "nosniff",
		"X-Request-Id":                 "",
	} {
		if got := header.Get(name); got == "" || !strings.Contains(got, want) {
			return fmt.Errorf("%s is %q", name, got)
		}
	}
	for _, name := range []string{"Server", "X-Powered-By", "Via"} {
		if got := header.Get(name); got != "" {
			return fmt.Errorf("%s is %q", name, got)
		}
	}
	return nil
}

// matches returns an error unless the body is of the described schema and, for a
// problem, its code is among the described ones.
func matches(schemas huma.Registry, content *huma.MediaType, body []byte) error {
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return err
	}
	var result huma.ValidateResult
	huma.Validate(schemas, content.Schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, value, &result)
	if len(result.Errors) > 0 {
		return fmt.Errorf("it is not of the described schema: %w", result.Errors[0])
	}
	if content.Examples == nil {
		return nil
	}
	fields, _ := value.(map[string]any)
	code, _ := fields["code"].(string)
	if content.Examples[code] == nil {
		return fmt.Errorf("the code %q is not in the description", code)
	}
	return nil
}

// findOperation is what the description says of a method and path, or nil.
func findOperation(doc *huma.OpenAPI, method, path string) *huma.Operation {
	path, _, _ = strings.Cut(path, "?")
	for template, item := range doc.Paths {
		if !fits(template, path) {
			continue
		}
		switch method {
		case stdhttp.MethodGet:
			return item.Get
		case stdhttp.MethodPost:
			return item.Post
		case stdhttp.MethodPatch:
			return item.Patch
		}
	}
	return nil
}

func fits(template, path string) bool {
	want, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i, segment := range want {
		if segment != got[i] && (!strings.HasPrefix(segment, "{") || got[i] == "") {
			return false
		}
	}
	return true
}

// is fails the test unless the answer has that status.
func (a answer) is(t *testing.T, status int) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("got %d %s, want %d", a.status, a.body, status)
	}
	return a
}

// into reads the body.
func (a answer) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("read %s: %v", a.body, err)
	}
}

// fields is the body as it is, to see what is there and what is not.
func (a answer) fields(t *testing.T) map[string]any {
	t.Helper()
	var fields map[string]any
	a.into(t, &fields)
	return fields
}

// problem fails the test unless the answer is a problem of that status and code.
func (a answer) problem(t *testing.T, status int, code string) problem {
	t.Helper()
	a.is(t, status)
	var p problem
	a.into(t, &p)
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("its type is %q", got)
	}
	if p.Code != code {
		t.Errorf("got %s, want the code %q", a.body, code)
	}
	if p.Status != status || p.Title != stdhttp.StatusText(status) || p.Detail == "" {
		t.Errorf("got %s, want the status in numbers and words and a detail", a.body)
	}
	if retry := a.header.Get("Retry-After"); (retry != "") != (status == 503 || status == 429) {
		t.Errorf("Retry-After is %q in a %d", retry, status)
	}
	return p
}

// problem is an error answer.
type problem struct {
	Code      string
	Detail    string
	Errors    []struct{ Location, Message string }
	RequestID string
	Status    int
	Title     string
}

// at fails the test unless the problem says that the fault is there.
func (p problem) at(t *testing.T, location string) {
	t.Helper()
	if len(p.Errors) != 1 || p.Errors[0].Location != location || p.Errors[0].Message == "" {
		t.Errorf("got the errors %+v, want one at %s that says what is wrong", p.Errors, location)
	}
}

// purchase is a purchase as answers and pushes show it.
type purchase struct {
	RequestID         string
	SaleID            int64
	UserID            string
	Quantity          int
	Status            string
	Success           *bool
	Reason            string
	Message           string
	OrderID           string
	ExistingRequestID string
	ExistingOrderID   string
	PayBy             time.Time
	AcceptedAt        time.Time
	DecidedAt         time.Time
	Links             struct{ Self, Events, WS string }
}

// purchase reads the body of an answer of that status.
func (a answer) purchase(t *testing.T, status int) purchase {
	t.Helper()
	a.is(t, status)
	var p purchase
	a.into(t, &p)
	return p
}

// buy buys and returns the purchase as it was accepted.
func (c *client) buy(t *testing.T, saleID int64, body string, headers ...string) purchase {
	t.Helper()
	return c.post(t, purchases(saleID), body, headers...).purchase(t, stdhttp.StatusAccepted)
}

// result waits for the result of a request.
func (c *client) result(t *testing.T, requestID string, headers ...string) purchase {
	t.Helper()
	p := c.get(t, "/purchases/"+requestID+"?wait=10s", headers...).purchase(t, stdhttp.StatusOK)
	if p.Status == "processing" {
		t.Fatalf("no result within 10 s: %+v", p)
	}
	return p
}
