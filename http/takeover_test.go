package http_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	stdhttp "net/http"
	"strings"
	"testing"
	"time"
)

// nextAnswer is an answer on a connection that the test itself writes to.
func nextAnswer(t *testing.T, in *bufio.Reader) answer {
	t.Helper()
	response, err := stdhttp.ReadResponse(in, nil)
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

// After a stream its connection serves whatever else is asked, also what was sent before
// the stream has ended. But a body is no request: who can have a proxy pass one on would
// get an answer that the proxy gives to somebody else (request smuggling).
func TestServer_FollowPurchase_SameConnection(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	id := n.buy(t, n.sale(t, 10, 1), by("42")).RequestID
	n.result(t, id)
	healthz := "GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n"
	sales := "GET /sales HTTP/1.1\r\nHost: test\r\n\r\n"
	stream := func(header string) string {
		return fmt.Sprintf("GET /purchases/%s/events HTTP/1.1\r\nHost: test\r\n%s\r\n", id, header)
	}
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(healthz), healthz)
	for name, test := range map[string]struct {
		sent string
		want string // what the answers after the stream's contain
	}{
		"NextRequest":  {stream("") + healthz, "ok"},
		"Body":         {stream(fmt.Sprintf("Content-Length: %d\r\n", len(healthz))) + healthz + sales, `"sales"`},
		"ChunkedBody":  {stream("Transfer-Encoding: chunked\r\n") + chunked + sales, `"sales"`},
		"EndedBefore":  {stream("") + stream("") + sales, "event: result"},
		"EmptyContent": {stream("Content-Length: 0\r\n") + sales, `"sales"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", strings.TrimPrefix(n.base, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(soon))
			if _, err := io.WriteString(conn, test.sent); err != nil {
				t.Fatal(err)
			}
			in := bufio.NewReader(conn)
			if first := nextAnswer(t, in); !strings.Contains(string(first.body), "event: result") {
				t.Errorf("the stream is %s", first.body)
			}
			if second := nextAnswer(t, in); !strings.Contains(string(second.body), test.want) {
				t.Errorf("the next answer is %s, want %s in it", second.body, test.want)
			}
		})
	}
}
