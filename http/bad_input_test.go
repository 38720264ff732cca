package http_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	stdhttp "net/http"
	"strings"
	"testing"

	"seckill/purchasing"
)

// What is wrong with a purchase is said by a problem of its own, and leaves
// nothing behind.
func TestServer_RequestPurchase_BadInput(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 10, 2)
	for name, test := range map[string]struct {
		body     string
		status   int
		code     string
		location string // "" where the code says it all
	}{
		"QuantityZero":            {`{"userId":"42","quantity":0}`, 422, "invalid_request", "body.quantity"},
		"QuantityNegative":        {`{"userId":"42","quantity":-1}`, 422, "invalid_request", "body.quantity"},
		"QuantityMostNegative":    {`{"userId":"42","quantity":-9223372036854775808}`, 422, "invalid_request", "body.quantity"},
		"QuantityFraction":        {`{"userId":"42","quantity":1.5}`, 422, "invalid_request", "body.quantity"},
		"QuantityText":            {`{"userId":"42","quantity":"1"}`, 422, "invalid_request", "body.quantity"},
		"QuantityTrue":            {`{"userId":"42","quantity":true}`, 422, "invalid_request", "body.quantity"},
		"QuantityOverLimit":       {`{"userId":"42","quantity":3}`, 422, "quantity_over_limit", "body.quantity"},
		"QuantityOverAnyLimit":    {`{"userId":"42","quantity":1001}`, 422, "quantity_over_limit", "body.quantity"},
		"QuantityOver32Bits":      {`{"userId":"42","quantity":2147483648}`, 422, "quantity_over_limit", "body.quantity"},
		"UserMissing":             {`{"quantity":1}`, 422, "user_required", ""},
		"NothingGiven":            {`{}`, 422, "user_required", ""},
		"UserEmpty":               {`{"userId":""}`, 422, "invalid_request", "body.userId"},
		"UserNull":                {`{"userId":null}`, 422, "user_required", ""},
		"UserNumber":              {`{"userId":42}`, 422, "invalid_request", "body.userId"},
		"UserTooLong":             {by(strings.Repeat("a", 65)), 422, "invalid_request", "body.userId"},
		"UserTooLongInRunes":      {by(strings.Repeat("买", 65)), 422, "invalid_request", "body.userId"},
		"UserWithNul":             {`{"userId":"a\u0000b"}`, 422, "invalid_request", "body.userId"},
		"UserWithNewLine":         {`{"userId":"a\nb"}`, 422, "invalid_request", "body.userId"},
		"UserWithDelete":          {`{"userId":"a\u007f"}`, 422, "invalid_request", "body.userId"},
		"UserWithC1Control":       {`{"userId":"a\u0085"}`, 422, "invalid_request", "body.userId"},
		"UserNotUTF8":             {"{\"userId\":\"a\xff\"}", 400, "invalid_json", ""},
		"UserHalfASurrogatePair":  {`{"userId":"\ud800"}`, 400, "invalid_json", ""},
		"ControlCharacterAsItIs":  {"{\"userId\":\"a\x01\"}", 400, "invalid_json", ""},
		"NoBody":                  {"", 400, "invalid_json", ""},
		"OnlySpace":               {"  ", 400, "invalid_json", ""},
		"CutOff":                  {`{"userId":"42"`, 400, "invalid_json", ""},
		"TwoValues":               {`{"userId":"42"} {}`, 400, "invalid_json", ""},
		"TrailingComma":           {`{"userId":"42",}`, 400, "invalid_json", ""},
		"SingleQuotes":            {`{'userId':'42'}`, 400, "invalid_json", ""},
		"NotANumber":              {`{"userId":"42","quantity":NaN}`, 400, "invalid_json", ""},
		"LeadingZero":             {`{"userId":"42","quantity":01}`, 400, "invalid_json", ""},
		"ByteOrderMark":           {"\ufeff" + by("42"), 400, "invalid_json", ""},
		"UTF16":                   {"{\x00}\x00", 400, "invalid_json", ""},
		"TooDeep":                 {strings.Repeat("[", 15_000), 400, "invalid_json", ""},
		"FormInsteadOfJSON":       {"userId=42&quantity=1", 400, "invalid_json", ""},
		"DuplicateUser":           {`{"userId":"42","userId":"43"}`, 400, "invalid_json", ""},
		"DuplicateQuantity":       {`{"userId":"42","quantity":1,"quantity":2}`, 400, "invalid_json", ""},
		"DuplicateInOtherEscapes": {`{"userId":"42","user\u0049d":"43"}`, 400, "invalid_json", ""},
		"UnknownField":            {`{"userId":"42","colour":"red"}`, 422, "invalid_request", "body.colour"},
		"DuplicateInOtherCase":    {`{"userId":"42","USERID":"43"}`, 422, "invalid_request", "body.USERID"},
		"FieldInOtherCase":        {`{"userId":"42","Quantity":2}`, 422, "invalid_request", "body.Quantity"},
		"Array":                   {`[]`, 422, "invalid_request", "body"},
		"Null":                    {`null`, 422, "invalid_request", "body"},
		"Text":                    {`"42"`, 422, "invalid_request", "body"},
		"TooLarge":                {by(strings.Repeat("a", 16<<10)), 413, "body_too_large", ""},
		"TooLargeByAMegabyte":     {strings.Repeat(" ", 1<<20) + by("42"), 413, "body_too_large", ""},
	} {
		t.Run(name, func(t *testing.T) {
			n.writesNothing(t, func() {
				p := n.post(t, purchases(sale), test.body).problem(t, test.status, test.code)
				if test.location != "" {
					p.at(t, test.location)
				}
			})
		})
	}
}

// A number that no sale counts in is the caller's fault, however it is written.
func TestServer_RequestPurchase_NumberOutOfRange(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 10, 2)
	for _, quantity := range []string{"9223372036854775808", "1e400", "-1e400", "1e2", "123456789012345678901234567890"} {
		t.Run(quantity, func(t *testing.T) {
			n.writesNothing(t, func() {
				n.post(t, purchases(sale), `{"userId":"42","quantity":`+quantity+`}`).is(t, 422)
			})
		})
	}
}

func TestServer_RequestPurchase_ContentType(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 100, 1)
	for _, contentType := range []string{
		"text/plain", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx",
		"application/json5", "*/*", "nonsense",
	} {
		t.Run(strings.ReplaceAll(contentType, "/", "_"), func(t *testing.T) {
			n.writesNothing(t, func() {
				n.post(t, purchases(sale), by("42"), "Content-Type: "+contentType).
					problem(t, stdhttp.StatusUnsupportedMediaType, "unsupported_media_type")
			})
		})
	}
	for _, contentType := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON", ""} {
		t.Run("Accepts_"+strings.ReplaceAll(contentType, "/", "_"), func(t *testing.T) {
			n.post(t, purchases(sale), by("42"), "Content-Type: "+contentType).is(t, stdhttp.StatusAccepted)
		})
	}
}

func TestServer_RequestPurchase_UnknownSale(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	n.sale(t, 10, 1)
	for _, sale := range []string{
		"1", "999999", "9223372036854775807", "9223372036854775808", "0", "-1", "abc", "1e3", "0x3e9", "1001.0", "%31%30%30%31%00", "%20", "%ff",
	} {
		t.Run(sale, func(t *testing.T) {
			n.writesNothing(t, func() {
				n.post(t, "/sales/"+sale+"/purchases", by("42")).problem(t, stdhttp.StatusNotFound, "sale_not_found")
				n.get(t, "/sales/"+sale).problem(t, stdhttp.StatusNotFound, "sale_not_found")
			})
		})
	}
}

// A body that does not arrive as HTTP promised is the caller's fault.
func TestServer_RequestPurchase_BrokenTransfer(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	address := purchases(n.sale(t, 10, 1))
	for name, transfer := range map[string]string{
		"ChunkWithoutALength": "Transfer-Encoding: chunked\r\n\r\nnonsense\r\n",
		"ChunkCutOff":         "Transfer-Encoding: chunked\r\n\r\n20\r\n{\"userId\":",
		"ShorterThanItSaid":   "Content-Length: 100\r\n\r\n" + by("42"),
	} {
		t.Run(name, func(t *testing.T) {
			n.writesNothing(t, func() {
				head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nConnection: close\r\n", address)
				n.raw(t, head+transfer).problem(t, stdhttp.StatusBadRequest, "invalid_json")
			})
		})
	}
}

// raw sends bytes, says that there will be no more, and returns the answer.
func (c *client) raw(t *testing.T, request string) answer {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(c.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, request); err != nil {
		t.Fatal(err)
	}
	if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	response, err := stdhttp.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{status: response.StatusCode, header: response.Header, body: body}
}

// An ID that is none, and one that nobody was given, are not found, whatever is
// asked of them; a long poll does not wait for them.
func TestServer_GetPurchase_NotFound(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 10, 1)
	known := n.buy(t, sale, by("42")).RequestID
	for name, id := range map[string]string{
		"Unknown":          "01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f",
		"Nil":              "00000000-0000-0000-0000-000000000000",
		"Number":           "42",
		"Word":             "nonsense",
		"TooShort":         "01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5",
		"TooLong":          "01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f0",
		"NotHexadecimal":   "01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5g",
		"WithoutHyphens":   strings.ReplaceAll(known, "-", ""),
		"InBraces":         "%7B" + known + "%7D",
		"AsURN":            "urn:uuid:" + known,
		"HyphensElsewhere": "01938c5e7-a3b-7c21-9f4e-2b6d8a1c3e5f",
		"SpaceAtTheEnd":    known + "%20",
		"Nul":              "%00",
		"NotUTF8":          "%ff%fe",
		"Quote":            "'%20or%20''='",
		"Refusal":          "refused-",
		"StreamOfASale":    purchasing.SaleStreamID(sale).String(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n.get(t, "/purchases/"+id).problem(t, stdhttp.StatusNotFound, "request_not_found")
			n.get(t, "/purchases/"+id+"?wait=30s").problem(t, stdhttp.StatusNotFound, "request_not_found")
			n.get(t, "/purchases/"+id+"/events").problem(t, stdhttp.StatusNotFound, "request_not_found")
		})
	}
}

func TestServer_UnknownAddress(t *testing.T) {
	t.Parallel()
	n := serve(t, newServer(t, newHub()))
	for _, path := range []string{
		"/nothing", "/sales/", "/sales/1001/nothing", "/purchases/42/events/2", "/orders/", "/seckill", "/seckill/nothing", "/favicon.ico",
		"/docs/nothing", "/assets/nothing", "/assets/nothing/nothing.js", "/.env", "/openapi.json/nothing", "/%00",
	} {
		t.Run(strings.ReplaceAll(path, "/", "_"), func(t *testing.T) {
			t.Parallel()
			n.get(t, path).problem(t, stdhttp.StatusNotFound, "not_found")
		})
	}
}

func TestServer_WrongMethod(t *testing.T) {
	t.Parallel()
	n := serve(t, newServer(t, newHub()))
	for address, allow := range map[string]string{
		"GET /sales/1001/purchases":    "POST",
		"DELETE /sales/1001/purchases": "POST",
		"PUT /sales":                   "GET, HEAD, POST",
		"PUT /sales/1001":              "GET, HEAD, PATCH",
		"DELETE /sales/1001":           "GET, HEAD, PATCH",
		"GET /sales/1001/stock":        "POST",
		"POST /sales/1001/events":      "GET, HEAD",
		"PUT /sales/1001/pause":        "POST",
		"GET /sales/1001/resume":       "POST",
		"DELETE /sales/1001/close":     "POST",
		"DELETE /purchases/42":         "GET, HEAD",
		"POST /purchases/42":           "GET, HEAD",
		"POST /purchases/42/events":    "GET, HEAD",
		"POST /orders/42":              "GET, HEAD",
		"GET /seckill/submit":          "POST",
		"POST /seckill/result/42":      "GET, HEAD",
		"POST /healthz":                "GET, HEAD",
		"POST /openapi.json":           "GET, HEAD",
		"POST /":                       "GET, HEAD",
		"NONSENSE /sales":              "GET, HEAD, POST",
	} {
		t.Run(strings.ReplaceAll(address, "/", "_"), func(t *testing.T) {
			t.Parallel()
			method, path, _ := strings.Cut(address, " ")
			a := n.do(t, method, path, "")
			a.problem(t, stdhttp.StatusMethodNotAllowed, "method_not_allowed")
			if got := a.header.Get("Allow"); got != allow {
				t.Errorf("Allow is %q, want %q", got, allow)
			}
		})
	}
}

// A buyer who hangs up while the request is taken in is no error of the service:
// the next one is answered.
func TestServer_RequestPurchase_CallerIsGone(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 10, 1)
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := n.try(gone, stdhttp.MethodPost, purchases(sale), by("42"), "Content-Type: application/json"); err == nil {
		t.Error("the one that is gone got an answer")
	}
	n.buy(t, sale, by("43"))
}
