package acceptance_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// errNoResult is returned for a stream that ends before the result, as when its
// node stops: the buyer comes back.
var errNoResult = errors.New("the stream ended without a result")

// listen follows a request by server-sent events until it is decided.
func (s *shop) listen(ctx context.Context, n *node, requestID string) (purchase, error) {
	told := telling{asked: requestID, how: bySSE, node: n.name, sentAt: time.Now()}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url("/purchases/"+requestID+"/events"), http.NoBody)
	if err != nil {
		return purchase{}, err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return purchase{}, s.note(ctx, told, err)
	}
	defer response.Body.Close()
	told.toldAt = time.Now()
	if response.StatusCode != http.StatusOK {
		return purchase{}, s.note(ctx, told, problemOf(response))
	}
	stream := bufio.NewReader(response.Body)
	for {
		told.purchase, err = readEvent(stream)
		told.toldAt = time.Now()
		if err := s.note(ctx, told, err); err != nil {
			return purchase{}, err
		}
		if told.decided() {
			return told.purchase, nil
		}
	}
}

// readEvent reads up to the end of the next event that carries a purchase.
func readEvent(stream *bufio.Reader) (purchase, error) {
	var p purchase
	var name string
	for {
		line, err := stream.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return purchase{}, errNoResult
		}
		if err != nil {
			return purchase{}, err
		}
		field, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case field == "event":
			name = value
		case field == "data" && value != "":
			if err := json.Unmarshal([]byte(value), &p); err != nil {
				return purchase{}, fmt.Errorf("%w: event data %q: %w", errContract, value, err)
			}
		case line == "\n" && name != "":
			if p.decided() != (name == "result") {
				return purchase{}, fmt.Errorf("%w: event %q shows a purchase that is %s", errContract, name, p.Status)
			}
			return p, nil
		}
	}
}
