package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
)

// maxAnswer bounds what is read of one answer.
const maxAnswer = 1 << 20

var (
	jsonHeader = http.Header{"Content-Type": {"application/json"}, "User-Agent": {"seckill-load"}}
	readHeader = http.Header{"User-Agent": {"seckill-load"}}
	sseHeader  = http.Header{"Accept": {"text/event-stream"}, "User-Agent": {"seckill-load"}}
)

// errMalformed wraps what cannot be read as the contract has it.
var errMalformed = errors.New("malformed answer")

// session speaks the contract for one caller at a time, over one connection.
// What it reads goes into buffers that are reused from call to call.
type session struct {
	target     target
	connection *connection
	answer     bytes.Buffer
	lines      *bufio.Reader // made when it is first needed
}

func (t target) newSession() *session {
	return &session{target: t, connection: t.newConnection()}
}

// close gives the connection up.
func (s *session) close() { s.connection.close() }

// submit sends one purchase. It returns a *refusal unless it was accepted.
func (s *session) submit(ctx context.Context, saleID int64, userID string, quantity int, key string) (purchase, error) {
	body := make([]byte, 0, 64)
	body = append(body, `{"userId":"`...)
	body = append(body, userID...)
	body = append(body, `","quantity":`...)
	body = strconv.AppendInt(body, int64(quantity), 10)
	body = append(body, '}')

	header := jsonHeader
	if key != "" {
		header = header.Clone()
		header.Set("Idempotency-Key", key)
	}
	to := s.target.base.JoinPath("sales", strconv.FormatInt(saleID, 10), "purchases")
	var p purchase
	if err := s.call(ctx, http.MethodPost, to, header, body, http.StatusAccepted, &p); err != nil {
		return purchase{}, err
	}
	if p.RequestID == "" || p.Links.Self == "" || p.Links.Events == "" {
		return purchase{}, fmt.Errorf("%w: a 202 without requestId or links", errMalformed)
	}
	return p, nil
}

// read asks for a request by its link. A wait makes it a long poll.
func (s *session) read(ctx context.Context, self string, wait time.Duration) (purchase, error) {
	to, err := s.link(self)
	if err != nil {
		return purchase{}, err
	}
	if wait > 0 {
		to.RawQuery = withWait(to.RawQuery, wait)
	}
	var p purchase
	err = s.call(ctx, http.MethodGet, to, readHeader, nil, http.StatusOK, &p)
	return p, err
}

// link is the URL that a link in an answer stands for. Links may carry a query.
func (s *session) link(to string) (*url.URL, error) {
	u, err := s.target.base.Parse(to)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	return u, nil
}

// withWait adds to a query the wish to wait for the result.
func withWait(query string, wait time.Duration) string {
	if query != "" {
		query += "&"
	}
	return query + "wait=" + wait.String()
}

func (s *session) createSale(ctx context.Context, body plan) (sale, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return sale{}, err
	}
	var created sale
	err = s.call(ctx, http.MethodPost, s.target.base.JoinPath("sales"), jsonHeader, data, http.StatusCreated, &created)
	if err != nil {
		return sale{}, fmt.Errorf("create a sale: %w", err)
	}
	return created, nil
}

func (s *session) readSale(ctx context.Context, id int64) (sale, error) {
	var found sale
	to := s.target.base.JoinPath("sales", strconv.FormatInt(id, 10))
	if err := s.call(ctx, http.MethodGet, to, readHeader, nil, http.StatusOK, &found); err != nil {
		return sale{}, fmt.Errorf("read sale %d: %w", id, err)
	}
	return found, nil
}

// call sends one request and decodes the answer. It returns a *refusal if the
// answer's status is not the one wanted. The header is not modified.
func (s *session) call(
	ctx context.Context, method string, to *url.URL, header http.Header, body []byte, want int, into any,
) error {
	resp, err := s.send(ctx, method, to, header, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != want {
		return s.refused(resp)
	}
	s.answer.Reset()
	if _, err := s.answer.ReadFrom(io.LimitReader(resp.Body, maxAnswer)); err != nil {
		return err
	}
	if err := json.Unmarshal(s.answer.Bytes(), into); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	return nil
}

// send goes below http.Client: there are no redirects, cookies or retries here.
func (s *session) send(
	ctx context.Context, method string, to *url.URL, header http.Header, body []byte,
) (*http.Response, error) {
	req := &http.Request{
		Method: method, URL: to, Host: to.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if body != nil {
		req.ContentLength = int64(len(body))
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	return s.connection.RoundTrip(req.WithContext(ctx))
}

// refused reads an answer that is not the one wanted.
func (s *session) refused(resp *http.Response) error {
	r := &refusal{Status: resp.StatusCode}
	s.answer.Reset()
	if _, err := s.answer.ReadFrom(io.LimitReader(resp.Body, maxAnswer)); err != nil {
		return err
	}
	_ = json.Unmarshal(s.answer.Bytes(), r) // without a code the status must do
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		r.retryAfter = time.Duration(seconds) * time.Second
	}
	return r
}
