package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
)

const (
	// maxLine bounds a line of a stream, hence the body of a push.
	maxLine = 8 << 10
	// streamEnd is how long a stream may stay open after its result.
	streamEnd = time.Second
)

// errNoResult is a push that ended without the result it was opened for.
var errNoResult = errors.New("push ended without a result")

// listen follows a request by server-sent events.
func (s *session) listen(ctx context.Context, link string) (purchase, time.Time, error) {
	to, err := s.link(link)
	if err != nil {
		return purchase{}, time.Time{}, err
	}
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	resp, err := s.send(ctx, http.MethodGet, to, sseHeader, nil)
	if err != nil {
		return purchase{}, time.Time{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return purchase{}, time.Time{}, s.refused(resp)
	}
	p, err := s.readResult(resp.Body)
	told := time.Now()
	if err != nil {
		return purchase{}, time.Time{}, err
	}

	// The service ends the stream by itself, and a stream that was read to its end
	// leaves its connection to the next call. One that stays open is cut off.
	late := time.AfterFunc(streamEnd, cut)
	defer late.Stop()
	_, _ = io.Copy(io.Discard, s.lines)
	return p, told, nil
}

// readResult reads events up to the first one that carries the result.
func (s *session) readResult(stream io.Reader) (purchase, error) {
	if s.lines == nil {
		s.lines = bufio.NewReaderSize(nil, maxLine)
	}
	s.lines.Reset(stream)
	s.answer.Reset()
	result := false
	for {
		line, err := s.lines.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return purchase{}, errNoResult
		}
		if err != nil {
			return purchase{}, err
		}
		line = bytes.TrimRight(line, "\r\n")
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case string(field) == "event":
			result = string(value) == "result"
		case string(field) == "data":
			if s.answer.Len() > 0 {
				s.answer.WriteByte('\n')
			}
			s.answer.Write(value)
		case len(line) == 0 && result:
			var p purchase
			if err := json.Unmarshal(s.answer.Bytes(), &p); err != nil {
				return purchase{}, fmt.Errorf("%w: %w", errMalformed, err)
			}
			return p, nil
		case len(line) == 0:
			s.answer.Reset()
		}
	}
}
