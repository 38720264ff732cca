package load

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// maxRest is how long a connection may rest and be used again. The server may
// close one that rests, and a POST that finds out has no clear answer.
const maxRest = 3 * time.Second

// connection is an http.RoundTripper for one caller at a time, over a connection
// that is kept for the next call. The caller's goroutine does its own writing and
// reading: http.Transport has two more goroutines for every connection, and
// handing each call over to them and back costs a quarter of the generator's CPU,
// which on one machine is the server's loss.
type connection struct {
	target target
	conn   net.Conn // nil while there is none
	in     *bufio.Reader
	out    *bufio.Writer
	rested time.Time // since when
}

func (t target) newConnection() *connection {
	return &connection{target: t, in: bufio.NewReaderSize(nil, 2<<10), out: bufio.NewWriterSize(nil, 1<<10)}
}

// RoundTrip implements http.RoundTripper.
func (c *connection) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	conn := c.conn
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	resp, err := c.exchange(req)
	if err != nil {
		stop()
		c.close()
		return nil, errors.Join(ctx.Err(), err)
	}
	resp.Body = &connectionBody{
		ReadCloser: resp.Body,
		connection: c,
		ctx:        ctx,
		stop:       stop,
		last:       resp.Close,
	}
	return resp, nil
}

func (c *connection) exchange(req *http.Request) (*http.Response, error) {
	if err := req.Write(c.out); err != nil {
		return nil, err
	}
	if err := c.out.Flush(); err != nil {
		return nil, err
	}
	return http.ReadResponse(c.in, req)
}

func (c *connection) open(ctx context.Context) error {
	if c.conn != nil && time.Since(c.rested) > maxRest {
		c.close()
	}
	if c.conn != nil {
		return nil
	}
	conn, err := c.target.dial(ctx, "tcp", "")
	if err != nil {
		return err
	}
	if c.target.base.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: c.target.base.Hostname()})
	}
	c.conn = conn
	c.in.Reset(conn)
	c.out.Reset(conn)
	return nil
}

// close may be called again, and before a call: the call opens the connection.
func (c *connection) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// connectionBody leaves the connection to the next call if it was read to its
// end, and gives it up otherwise.
type connectionBody struct {
	io.ReadCloser
	connection *connection
	ctx        context.Context
	stop       func() bool
	last       bool // the server closes the connection after it
	ended      bool
}

func (b *connectionBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended = true
	} else if err != nil {
		err = errors.Join(b.ctx.Err(), err)
	}
	return n, err
}

func (b *connectionBody) Close() error {
	inTime := b.stop()
	if !inTime || !b.ended || b.last {
		b.connection.close()
		return nil
	}
	b.connection.rested = time.Now()
	return nil
}
