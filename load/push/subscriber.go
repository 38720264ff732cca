package push

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"
)

// sources are how many addresses of the loopback network connections come from:
// each has a range of ports of its own.
const sources = 16

// A Way is how subscribers are told.
type Way string

// The ways.
const (
	SSE       Way = "sse"
	WebSocket Way = "ws"
)

// message is what was pushed, and when it came.
type message struct {
	data []byte
	at   time.Time
}

// subscriber is one connection that is pushed to.
type subscriber interface {
	// next waits for a message. Its data is valid until the next call. It returns
	// io.EOF when the server has ended the stream as it should.
	next() (message, error)
	close()
}

// dialer dials from one of the loopback addresses.
func dialer(number int) *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+number%sources))}}
}

// subscribe opens a connection; number says which.
func subscribe(ctx context.Context, way Way, number int, to *url.URL) (subscriber, error) {
	if way == WebSocket {
		client := &http.Client{Transport: &http.Transport{DialContext: dialer(number).DialContext}}
		conn, _, err := websocket.Dial(ctx, to.String(), &websocket.DialOptions{HTTPClient: client})
		if err != nil {
			return nil, err
		}
		return &socket{conn: conn, ctx: ctx}, nil
	}
	conn, err := dialer(number).DialContext(ctx, "tcp", to.Host)
	if err != nil {
		return nil, err
	}
	s := &stream{conn: conn}
	if err := s.open(to); err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

// stream is a subscriber by server-sent events.
type stream struct {
	conn  net.Conn
	body  io.Closer
	lines *bufio.Reader
}

func (s *stream) open(to *url.URL) error {
	if _, err := fmt.Fprintf(s.conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n\r\n", to.RequestURI(), to.Host); err != nil {
		return err
	}
	in := bufio.NewReaderSize(s.conn, 1<<10)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return fmt.Errorf("%s: %s", to, resp.Status)
	}
	s.body, s.lines = resp.Body, bufio.NewReaderSize(resp.Body, 1<<10)
	return nil
}

func (s *stream) next() (message, error) {
	for {
		line, err := s.lines.ReadSlice('\n')
		if err != nil {
			return message{}, err
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			return message{data: data, at: time.Now()}, nil
		}
	}
}

func (s *stream) close() {
	_ = s.conn.Close()
	_ = s.body.Close()
}

// socket is a subscriber by WebSocket.
type socket struct {
	conn *websocket.Conn
	ctx  context.Context
}

func (s *socket) next() (message, error) {
	_, data, err := s.conn.Read(s.ctx)
	if closed := (websocket.CloseError{}); errors.As(err, &closed) && closed.Code == websocket.StatusNormalClosure {
		return message{}, io.EOF
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // it should end with a code
	}
	if err != nil {
		return message{}, err
	}
	return message{data: data, at: time.Now()}, nil
}

func (s *socket) close() { _ = s.conn.CloseNow() }
