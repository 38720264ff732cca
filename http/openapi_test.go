package http_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"seckill/http"
)

// operations are all operations of the API's description by "METHOD /path".
func operations(doc *huma.OpenAPI) map[string]*huma.Operation {
	all := make(map[string]*huma.Operation)
	for path, item := range doc.Paths {
		for method, operation := range map[string]*huma.Operation{
			"DELETE": item.Delete, "GET": item.Get, "HEAD": item.Head, "OPTIONS": item.Options, "PATCH": item.Patch, "POST": item.Post, "PUT": item.Put,
		} {
			if operation != nil {
				all[method+" "+path] = operation
			}
		}
	}
	return all
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// The description is served as OpenAPI 3.1 that a generator of clients can use.
func TestServer_OpenAPI(t *testing.T) {
	t.Parallel()
	n := serve(t, newServer(t, newHub()))
	a := n.get(t, "/openapi.json").is(t, 200)
	if got := a.header.Get("Content-Type"); !strings.HasSuffix(got, "json") {
		t.Errorf("its type is %q", got)
	}
	doc := a.fields(t)
	if version, _ := doc["openapi"].(string); !strings.HasPrefix(version, "3.1.") {
		t.Errorf("its version is %v, want 3.1", doc["openapi"])
	}
	info, _ := doc["info"].(map[string]any)
	if info["title"] != "Seckill" || info["version"] != "test" {
		t.Errorf("its info is %v", info)
	}
	if paths, _ := doc["paths"].(map[string]any); len(paths) != len(n.doc.Paths) {
		t.Errorf("it has %d paths, want %d", len(paths), len(n.doc.Paths))
	}
	walk(t, doc, "#", func(at string, object map[string]any) {
		if _, ok := object["$schema"]; ok {
			t.Errorf("%s has a $schema", at)
		}
		if reference, ok := object["$ref"].(string); ok && !resolves(doc, reference) {
			t.Errorf("%s refers to %s, which is not there", at, reference)
		}
	})
	n.get(t, "/openapi.yaml").is(t, 200)
}

// walk visits all objects of a document.
func walk(t *testing.T, value any, at string, visit func(at string, object map[string]any)) {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		visit(at, value)
		for name, field := range value {
			walk(t, field, at+"/"+name, visit)
		}
	case []any:
		for i, element := range value {
			walk(t, element, fmt.Sprint(at, "/", i), visit)
		}
	}
}

func resolves(doc map[string]any, reference string) bool {
	var value any = doc
	for name := range strings.SplitSeq(strings.TrimPrefix(reference, "#/"), "/") {
		object, ok := value.(map[string]any)
		if !ok {
			return false
		}
		value = object[name]
	}
	return value != nil
}

// Who tries an operation in the docs finds its address filled in. The docs read the
// parameter's own example, not the one of its schema.
func TestServer_OpenAPI_Examples(t *testing.T) {
	t.Parallel()
	n := serve(t, newServer(t, newHub()))
	examples := make(map[string]any)
	walk(t, n.get(t, "/openapi.json").is(t, 200).fields(t), "#", func(at string, object map[string]any) {
		if place, ok := object["in"].(string); ok {
			if object["required"] == true && object["example"] == nil {
				t.Errorf("%s, the required %v in the %s, has no example", at, object["name"], place)
			}
			examples[fmt.Sprint(place, " ", object["name"])] = object["example"]
		}
	})
	for parameter, want := range map[string]any{
		"header Idempotency-Key": nil, // it would make every try the same purchase
		"header Prefer":          "wait=30",
		"path orderId":           "4KE-APG-W26",
		"path requestId":         "01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f",
		"path saleId":            "1001",
		"query wait":             "30s",
	} {
		if examples[parameter] != want {
			t.Errorf("the example of the %s is %v, want %v", parameter, examples[parameter], want)
		}
	}
}

func TestServer_OpenAPI_Operations(t *testing.T) {
	t.Parallel()
	doc := newServer(t, newHub()).OpenAPI()
	var tags, names []string
	for _, tag := range doc.Tags {
		tags = append(tags, tag.Name)
	}
	for address, operation := range operations(doc) {
		t.Run(strings.ReplaceAll(address, "/", "_"), func(t *testing.T) {
			if operation.OperationID == "" || slices.Contains(names, operation.OperationID) {
				t.Errorf("its name is %q, want one of its own", operation.OperationID)
			}
			names = append(names, operation.OperationID)
			if operation.Summary == "" || len(operation.Tags) != 1 || !slices.Contains(tags, operation.Tags[0]) {
				t.Errorf("its summary is %q, its tags are %q; want words, and one of %q", operation.Summary, operation.Tags, tags)
			}
			for _, match := range pathParameter.FindAllStringSubmatch(address, -1) {
				if !slices.ContainsFunc(operation.Parameters, func(p *huma.Param) bool {
					return p.In == "path" && p.Name == match[1] && p.Required && p.Schema != nil
				}) {
					t.Errorf("it does not say what %s is", match[0])
				}
			}
			if operation.RequestBody != nil {
				checkContent(t, "the request", operation.RequestBody.Content)
			}
			for status, response := range operation.Responses {
				if response.Description == "" {
					t.Errorf("its %s says nothing", status)
				}
				if len(response.Content) > 0 || status == "101" || status == "204" {
					checkContent(t, "its "+status, response.Content)
				} else {
					t.Errorf("its %s has no content", status)
				}
			}
		})
	}
}

// checkContent checks that a reader of the description sees what goes over the wire.
func checkContent(t *testing.T, what string, content map[string]*huma.MediaType) {
	t.Helper()
	for mediaType, media := range content {
		if media.Schema == nil && media.Example == nil && len(media.Examples) == 0 {
			t.Errorf("%s as %s has neither a schema nor an example", what, mediaType)
		}
	}
}

// Whatever address the server takes is described: those that the API registers by
// hand as well as the others. Only the pages and the descriptions themselves are not.
func TestServer_OpenAPI_AllRoutes(t *testing.T) {
	t.Parallel()
	described := operations(newServer(t, newHub()).OpenAPI())
	undescribed := []string{"GET /assets/{version}/{file}", "GET /docs", "GET /docs/", "GET /docs/{$}", "GET /operator", "GET /operator/{$}", "GET /seckill.js", "GET /{$}"}
	routes := registeredRoutes(t)
	if len(routes) < len(undescribed)+2 {
		t.Errorf("only the routes %q were found", routes)
	}
	for _, route := range routes {
		if described[route] == nil && !slices.Contains(undescribed, route) {
			t.Errorf("%s is not in the description", route)
		}
	}
}

// registeredRoutes are the patterns that the package gives to a mux by hand.
func registeredRoutes(t *testing.T) []string {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var routes []string
	for _, entry := range files {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if route, ok := routeOf(node); ok {
				routes = append(routes, route)
			}
			return true
		})
	}
	return routes
}

// routeOf is the pattern of a call of mux.Handle or mux.HandleFunc.
func routeOf(node ast.Node) (string, bool) {
	call, ok := node.(*ast.CallExpr)
	if !ok || len(call.Args) != 2 {
		return "", false
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || (method.Sel.Name != "Handle" && method.Sel.Name != "HandleFunc") {
		return "", false
	}
	pattern, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return "", false
	}
	route, err := strconv.Unquote(pattern.Value)
	return route, err == nil
}

// Every code that the API knows is described where it can be answered, under its
// status and with itself as the example. What each operation really answers is
// compared by the client of these tests.
func TestServer_OpenAPI_Problems(t *testing.T) {
	t.Parallel()
	described := make(map[string]bool)
	for address, operation := range operations(newServer(t, newHub()).OpenAPI()) {
		for status, response := range operation.Responses {
			media := response.Content["application/problem+json"]
			if media == nil {
				continue
			}
			for code, example := range media.Examples {
				described[code] = true
				encoded, err := json.Marshal(example.Value)
				if err != nil {
					t.Fatal(err)
				}
				var p problem
				answer{body: encoded}.into(t, &p)
				if p.Code != code || strconv.Itoa(p.Status) != status || fmt.Sprint(http.ProblemStatuses()[code]) != status {
					t.Errorf("%s: %s stands under %s with the example %s", address, code, status, encoded)
				}
			}
		}
	}
	// These are answered where there is no operation, or before one is looked for; internal
	// is for nobody to expect.
	elsewhere := []string{"headers_too_large", "internal", "method_not_allowed", "not_found", "uri_too_long"}
	for _, code := range slices.Sorted(maps.Keys(http.ProblemStatuses())) {
		if described[code] == slices.Contains(elsewhere, code) {
			t.Errorf("%s: described %t", code, described[code])
		}
	}
}

// The statuses of the codes are part of the contract.
func TestProblem_Statuses(t *testing.T) {
	t.Parallel()
	contract := map[string]int{
		"already_paid":           409,
		"already_refunded":       409,
		"body_too_large":         413,
		"forbidden":              403,
		"headers_too_large":      431,
		"idempotency_key_reused": 422,
		"invalid_json":           400,
		"invalid_request":        422,
		"method_not_allowed":     405,
		"not_found":              404,
		"order_cancelled":        409,
		"order_expired":          409,
		"order_not_found":        404,
		"order_not_paid":         409,
		"order_paid":             409,
		"overloaded":             503,
		"payment_too_late":       409,
		"quantity_over_limit":    422,
		"rate_limited":           429,
		"request_not_found":      404,
		"sale_closed":            409,
		"sale_not_found":         404,
		"sale_not_open":          409,
		"sale_paused":            409,
		"sold_out":               409,
		"unauthorized":           401,
		"unavailable":            503,
		"unsupported_media_type": 415,
		"uri_too_long":           414,
		"user_required":          422,
	}
	for code, status := range http.ProblemStatuses() {
		if want, ok := contract[code]; ok && status != want {
			t.Errorf("%s answers %d, want %d", code, status, want)
		}
	}
}
