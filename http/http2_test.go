package http_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"seckill/http"
	"seckill/postgres/postgrestest"
)

// frames is a connection of HTTP/2 on which a test says what it likes.
type frames struct {
	*http2.Framer

	conn net.Conn
}

// dialFrames connects and returns what the server allows.
func dialFrames(t *testing.T, c *client, config *tls.Config) (*frames, map[http2.SettingID]uint32) {
	t.Helper()
	config = config.Clone()
	config.NextProtos = []string{http2.NextProtoTLS}
	conn, err := tls.Dial("tcp", strings.TrimPrefix(c.base, "https://"), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	f := &frames{Framer: http2.NewFramer(conn, conn), conn: conn}
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	settings := make(map[http2.SettingID]uint32)
	frame, err := f.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	allowed, ok := frame.(*http2.SettingsFrame)
	if !ok {
		t.Fatalf("the server begins with %v", frame)
	}
	_ = allowed.ForeachSetting(func(s http2.Setting) error { settings[s.ID] = s.Val; return nil })
	if err := f.WriteSettingsAck(); err != nil {
		t.Fatal(err)
	}
	return f, settings
}

// header is the block of a GET, encoded without a table, so that it says the same on
// every stream.
func header(path string, more ...hpack.HeaderField) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range append([]hpack.HeaderField{
		{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "memory"}, {Name: ":path", Value: path},
	}, more...) {
		field.Sensitive = true // which is never put into the table
		_ = encoder.WriteField(field)
	}
	return block.Bytes()
}

func (f *frames) ask(t *testing.T, stream uint32, path string) {
	t.Helper()
	if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: header(path), EndHeaders: true, EndStream: true}); err != nil {
		t.Fatal(err)
	}
}

// A connection may have a hundred requests under way; one more is refused, and the
// others go on.
func TestServer_HTTP2_Streams(t *testing.T) {
	t.Parallel()
	certificate, config := certificateOf(t, valid(t, "seckill"))
	n := startNodeOn(t, postgrestest.New(t), nodeConfig{certificate: certificate, idle: true, tls: config})
	id := n.buy(t, n.sale(t, 10, 1), by("42")).RequestID
	f, settings := dialFrames(t, n.client, config)
	if got := settings[http2.SettingMaxConcurrentStreams]; got != 100 {
		t.Errorf("it allows %d streams", got)
	}
	for i := range uint32(101) {
		f.ask(t, 2*i+1, "/purchases/"+id+"?wait=20s")
	}
	_ = f.conn.SetReadDeadline(time.Now().Add(soon))
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if reset, ok := frame.(*http2.RSTStreamFrame); ok {
			if reset.StreamID != 201 { // with PROTOCOL_ERROR, as the client knew the bound
				t.Errorf("stream %d was reset with %s", reset.StreamID, reset.ErrCode)
			}
			break
		}
		if _, ok := frame.(*http2.HeadersFrame); ok {
			t.Error("a long poll was answered")
		}
	}
	n.get(t, "/healthz").is(t, 200)
}

// A client that cancels whatever it asks at once (CVE-2023-44487) keeps no more busy
// than one that does not, and disturbs nobody.
func TestServer_HTTP2_RapidReset(t *testing.T) {
	t.Parallel()
	certificate, config := certificateOf(t, valid(t, "seckill"))
	n := startNodeOn(t, postgrestest.New(t), nodeConfig{certificate: certificate, tls: config})
	sale := n.sale(t, 100, 1)
	id := n.buy(t, sale, by("first")).RequestID
	f, _ := dialFrames(t, n.client, config)
	go func() { _, _ = io.Copy(io.Discard, f.conn) }() // the server must not wait for us
	stop := make(chan struct{})
	resets := make(chan uint32)
	go func() {
		var stream uint32
		defer func() { resets <- stream / 2 }()
		for stream = 1; ; stream += 2 {
			select {
			case <-stop:
				return
			default:
			}
			err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: header("/purchases/" + id + "?wait=20s"), EndHeaders: true, EndStream: true})
			if err == nil {
				err = f.WriteRSTStream(stream, http2.ErrCodeCancel)
			}
			if err != nil { // it was cut off, which is as well
				<-stop
				return
			}
		}
	}()
	slowest := time.Duration(0)
	for _, user := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		began := time.Now()
		if p := n.result(t, n.buy(t, sale, by(user)).RequestID); p.Status != "succeeded" {
			t.Errorf("%s got %+v", user, p)
		}
		slowest = max(slowest, time.Since(began))
	}
	close(stop)
	if count := <-resets; count < 500 {
		t.Errorf("only %d requests were reset", count)
	} else {
		t.Logf("%d requests were reset; the slowest purchase took %s", count, slowest)
	}
	if slowest > 5*time.Second {
		t.Errorf("a purchase took %s", slowest)
	}
}

// A header that never ends keeps no connection: what arrives is not a frame, so a ping
// remains unanswered.
func TestServer_HTTP2_SlowHeader(t *testing.T) {
	t.Parallel()
	certificate, config := certificateOf(t, valid(t, "seckill"))
	c := serveTLS(t, newServerWith(t, http.Config{Certificate: certificate}), config)
	f, _ := dialFrames(t, c, config)
	if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: header("/healthz"), EndStream: true}); err != nil {
		t.Fatal(err)
	}
	go func() {
		continuation := append([]byte{0, 0x10, 0, 9, 0, 0, 0, 0, 1}, make([]byte, 0x1000)...) // length, CONTINUATION, no flags, stream
		for i := range continuation {
			if _, err := f.conn.Write(continuation[i : i+1]); err != nil {
				return
			}
			time.Sleep(500 * time.Millisecond)
		}
	}()
	began := time.Now()
	_ = f.conn.SetReadDeadline(began.Add(40 * time.Second))
	for {
		if _, err := f.ReadFrame(); err != nil {
			if errors.Is(err, io.EOF) || !isTimeout(err) {
				break
			}
			t.Fatalf("it is still open after %s", time.Since(began))
		}
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it was cut off after %s, want 25s", took)
	} else {
		t.Logf("it was cut off after %s", took)
	}
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// A header that is too large is answered, not taken.
func TestServer_HTTP2_HeaderTooLarge(t *testing.T) {
	t.Parallel()
	certificate, config := certificateOf(t, valid(t, "seckill"))
	c := serveTLS(t, newServerWith(t, http.Config{Certificate: certificate}), config)
	c.get(t, "/healthz", "Prefer: "+strings.Repeat("x", 20<<10)).problem(t, 431, "headers_too_large")
	c.get(t, "/"+strings.Repeat("x", 5<<10)).problem(t, 414, "uri_too_long")
}
