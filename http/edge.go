package http

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

const (
	// maxURLBytes is far more than any address of the API takes.
	maxURLBytes = 4 << 10
	// maxHeaderBytes is what is answered by a problem, and hardMaxHeaderBytes where
	// net/http stops reading, and answers for itself.
	maxHeaderBytes     = 16 << 10
	hardMaxHeaderBytes = 32 << 10

	msgURITooLong      = "请求地址过长"
	msgHeadersTooLarge = "请求头过大"
)

// answerPolicy has a browser do nothing with an answer that is no page.
const answerPolicy = "default-src 'none'; frame-ancestors 'none'"

// strictTransport has browsers that have come by HTTPS come by nothing else for a year.
const strictTransport = "max-age=31536000"

// answering is where every request enters and every answer leaves. An answer gets an
// ID, what browsers shall not do with it, and a deadline, as a client that does not
// read must not hold a connection.
func (s *Server) answering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := requestID(r)
		r = r.WithContext(context.WithValue(r.Context(), requestIDKey{}, id))
		header := w.Header()
		header.Set(requestIDHeader, id)
		header.Set("Content-Security-Policy", answerPolicy)
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		if s.Certificate != nil {
			header.Set("Strict-Transport-Security", strictTransport)
		}
		select {
		case <-s.stopping:
			header.Set("Connection", "close") // before it is closed
		default:
		}
		defer s.panicked(r.Context())
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Now().Add(answerTimeout)) // there are no deadlines in tests
		if r.Body != nil && r.Body != http.NoBody {
			// However little of it the handler reads: net/http looks for the end.
			_ = control.SetReadDeadline(time.Now().Add(bodyReadTimeout))
			r.Body = &timedBody{ReadCloser: r.Body, control: control}
		}
		switch {
		case len(r.RequestURI) > maxURLBytes:
			refuse(w, r, "uri_too_long", msgURITooLong)
			return
		case sizeOf(r.Header) > maxHeaderBytes:
			refuse(w, r, "headers_too_large", msgHeadersTooLarge)
			return
		}
		if contentType := r.Header.Get("Content-Type"); contentType != "" {
			r.Header.Set("Content-Type", strings.ToLower(contentType)) // huma minds the case of media types, which have none
		}
		next.ServeHTTP(w, r)
	})
}

// refuse answers with a problem, in the words of the contract that the client speaks.
func refuse(w http.ResponseWriter, r *http.Request, code, msg string) {
	if strings.HasPrefix(r.URL.Path, "/seckill/") {
		seckillError{problems[code].status, msg}.write(w)
		return
	}
	problem(code).write(w)
}

// sizeOf is about how long the fields of a header are.
func sizeOf(header http.Header) int {
	size := 0
	for name, values := range header {
		for _, value := range values {
			size += len(name) + len(": \r\n") + len(value)
		}
	}
	return size
}

// timedBody is a body that has to arrive within a time. Once it has, the deadline is
// lifted: it would end the wait of those who wait for a result.
type timedBody struct {
	io.ReadCloser

	control *http.ResponseController
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// panicked logs a panic under the ID of its request and cuts the connection: what was
// answered until then is not to be trusted, and the client learns nothing else.
func (s *Server) panicked(ctx context.Context) {
	switch cause := recover(); cause {
	case nil:
	case http.ErrAbortHandler:
		panic(cause)
	default:
		s.logger.ErrorContext(ctx, "panicked", "cause", cause, "stack", string(debug.Stack()))
		panic(http.ErrAbortHandler)
	}
}

const (
	requestIDHeader    = "X-Request-Id"
	maxRequestIDLength = 128
)

type requestIDKey struct{}

// requestID is what a request is called in logs: as the client or a proxy calls it, if
// that can stand in a line, or anew.
func requestID(r *http.Request) string {
	id := r.Header.Get(requestIDHeader)
	if id == "" || len(id) > maxRequestIDLength || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return rand.Text()
	}
	return id
}

// LogHandler adds the ID of the request that is served to what is logged meanwhile.
type LogHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h LogHandler) Handle(ctx context.Context, record slog.Record) error {
	if id, ok := ctx.Value(requestIDKey{}).(string); ok {
		record = record.Clone()
		record.AddAttrs(slog.String("request", id))
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h LogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return LogHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h LogHandler) WithGroup(name string) slog.Handler { return LogHandler{h.Handler.WithGroup(name)} }
