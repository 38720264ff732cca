package http

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// What is compressed, and what never is: how long a compressed answer is tells what is
// in it to whoever may have the victim ask and sees how much comes back (BREACH). So
// only what is the same for everybody who may see it is compressed: files of the
// program, and lists that hold no ticket, no token and nothing that the request said.
// Streams are never: they would be held back.

// minCompressed is how long an answer has to be for it to be worth it.
const minCompressed = 1 << 10

// acceptsGzip reports whether the client takes gzip (RFC 9110, 12.5.3).
func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		q, weighted := strings.CutPrefix(strings.ReplaceAll(weight, " ", ""), "q=")
		value, err := strconv.ParseFloat(q, 64)
		return !weighted || err == nil && value > 0
	}
	return false
}

// asset is a file of the program, as it is and compressed.
type asset struct {
	name           string // whose end says what type it is of
	version        string
	plain, gzipped []byte // gzipped is nil where it is no shorter
}

func newAsset(name, version string, content []byte) *asset {
	a := &asset{name: name, version: version, plain: content}
	if len(content) >= minCompressed {
		a.gzipped = gzipped(content, gzip.BestCompression)
	}
	return a
}

// ServeHTTP implements http.Handler.
func (a *asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept-Encoding")
	tag, content := a.version, a.plain
	if a.gzipped != nil && acceptsGzip(r) {
		tag, content = a.version+"-gzip", a.gzipped
		w.Header().Set("Content-Encoding", "gzip")
		if r.Header.Get("Range") == "" {
			w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		}
	}
	w.Header().Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, a.name, time.Time{}, bytes.NewReader(content))
}

func gzipped(content []byte, level int) []byte {
	var buffer bytes.Buffer
	writer, _ := gzip.NewWriterLevel(&buffer, level) // the levels here are known
	_, _ = writer.Write(content)                     // a buffer takes everything
	_ = writer.Close()
	return buffer.Bytes()
}

// compressed is for operations whose answers may be compressed; see above for which.
func compressed(op huma.Operation) huma.Operation {
	op.Middlewares = append(op.Middlewares, compress)
	return op
}

func compress(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	w.Header().Add("Vary", "Accept-Encoding")
	if !acceptsGzip(r) {
		next(ctx)
		return
	}
	held := &heldAnswer{ResponseWriter: w}
	next(humago.NewContext(ctx.Operation(), r.WithContext(ctx.Context()), held))
	held.release()
}

// heldAnswer keeps an answer until it is whole: then it is compressed at once, however
// slowly the client reads. A compressor takes most of a megabyte.
type heldAnswer struct {
	http.ResponseWriter

	body   bytes.Buffer
	status int
}

// Unwrap is for http.ResponseController.
func (a *heldAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *heldAnswer) WriteHeader(status int) { a.status = status }

// Write implements io.Writer.
func (a *heldAnswer) Write(data []byte) (int, error) { return a.body.Write(data) }

func (a *heldAnswer) release() {
	content := a.body.Bytes()
	if len(content) >= minCompressed {
		var buffer bytes.Buffer
		writer := compressors.Get().(*gzip.Writer)
		writer.Reset(&buffer)
		_, _ = writer.Write(content) // a buffer takes everything
		_ = writer.Close()
		compressors.Put(writer)
		content = buffer.Bytes()
		a.Header().Set("Content-Encoding", "gzip")
	}
	a.Header().Set("Content-Length", strconv.Itoa(len(content)))
	if a.status != 0 {
		a.ResponseWriter.WriteHeader(a.status)
	}
	_, _ = a.ResponseWriter.Write(content) // whoever is gone does not read it
}

var compressors = sync.Pool{New: func() any {
	writer, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // which is a known level
	return writer
}}
