package acceptance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Ways in which a buyer is told of a purchase.
const (
	byPost      = "post"
	byLongPoll  = "long poll"
	byShortPoll = "short poll"
	bySSE       = "sse"
)

// errLeft is why the context of a buyer has ended who closed the page.
var errLeft = errors.New("the buyer has left")

// shop is the service as its buyers see it. Whatever it answers goes into the
// ledger.
type shop struct {
	client *http.Client
	ledger *ledger
}

func newShop() *shop {
	transport := &http.Transport{MaxIdleConnsPerHost: 256, IdleConnTimeout: time.Minute}
	return &shop{client: &http.Client{Transport: transport}, ledger: newLedger()}
}

// buy sends a purchase and returns what the 202 says. It returns a *problem for
// any other answer.
func (s *shop) buy(ctx context.Context, n *node, o order) (purchase, error) {
	s.ledger.addSent(o)
	body, err := json.Marshal(map[string]any{"userId": o.user, "quantity": o.quantity})
	if err != nil {
		return purchase{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url(fmt.Sprintf("/sales/%d/purchases", o.sale)), bytes.NewReader(body))
	if err != nil {
		return purchase{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	if o.key != "" {
		request.Header.Set("Idempotency-Key", o.key)
	}
	told := telling{how: byPost, key: o.key, node: n.name, sentAt: time.Now()}
	err = s.call(request, http.StatusAccepted, &told.purchase)
	told.toldAt = time.Now()
	if answered, ok := errors.AsType[*problem](err); ok && answered.refusal() {
		s.ledger.addRefusal(refusal{order: o, code: answered.Code, sentAt: told.sentAt, toldAt: told.toldAt})
		return purchase{}, err
	}
	return told.purchase, s.note(ctx, told, err)
}

// ask asks what became of a request, and waits for it if wait is positive.
func (s *shop) ask(ctx context.Context, n *node, requestID string, wait time.Duration) (purchase, error) {
	told := telling{asked: requestID, how: byShortPoll, node: n.name, sentAt: time.Now()}
	path := "/purchases/" + requestID
	if wait > 0 {
		told.how = byLongPoll
		path += "?wait=" + wait.String()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url(path), http.NoBody)
	if err != nil {
		return purchase{}, err
	}
	err = s.call(request, http.StatusOK, &told.purchase)
	told.toldAt = time.Now()
	return told.purchase, s.note(ctx, told, err)
}

// note writes an answer into the ledger, or a failure unless it is the buyer who
// left.
func (s *shop) note(ctx context.Context, told telling, err error) error {
	answered, ok := errors.AsType[*problem](err)
	switch {
	case err == nil:
		s.ledger.addTelling(told)
	case ok && answered.notFound():
		s.ledger.addNotFound(notFound{asked: told.asked, node: told.node, toldAt: told.toldAt})
	case !errors.Is(context.Cause(ctx), errLeft):
		s.ledger.addFailure(told.how, told.node, err)
	}
	return err
}

// call sends a request and reads the answer into what the status stands for. It
// returns a *problem for another status.
func (s *shop) call(request *http.Request, want int, into any) error {
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != want {
		return problemOf(response)
	}
	return decode(response, into)
}

func decode(response *http.Response, into any) error {
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%w: %s with %q: %w", errContract, response.Status, body, err)
	}
	return nil
}

// problemOf reads a problem, and returns an error that wraps errContract for one
// that no buyer may see.
func problemOf(response *http.Response) error {
	p := &problem{}
	if err := decode(response, p); err != nil {
		return err
	}
	switch {
	case p.Status != response.StatusCode || !strings.HasPrefix(response.Header.Get("Content-Type"), "application/problem+json"):
		return fmt.Errorf("%w: %s as %q", errContract, response.Status, response.Header.Get("Content-Type"))
	case p.passing() && response.Header.Get("Retry-After") == "":
		return fmt.Errorf("%w: %w without Retry-After", errContract, p)
	case p.passing(), p.refusal(), p.orderRefusal(), p.notFound():
		return p
	default:
		return fmt.Errorf("%w: %w", errContract, p)
	}
}
