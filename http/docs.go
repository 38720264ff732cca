package http

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/swaggest/swgui/v5emb"
)

// registerDocs serves the API's description for people, without the internet.
// The description itself is huma's, at /openapi.json and /openapi.yaml.
func registerDocs(mux *http.ServeMux) {
	docs := v5emb.New("Seckill API", "/openapi.json", "/docs/")
	page := pageOf(docs, "/docs/")
	policy := docsPolicy(page)
	mux.HandleFunc("GET /docs/{$}", func(w http.ResponseWriter, r *http.Request) {
		guardPage(w.Header(), policy)
		http.ServeContent(w, r, "index.html", time.Time{}, bytes.NewReader(page))
	})
	mux.HandleFunc("GET /docs/", func(w http.ResponseWriter, r *http.Request) {
		docs.ServeHTTP(&notFoundWriter{ResponseWriter: w}, r)
	})
	mux.Handle("GET /docs", http.RedirectHandler("/docs/", http.StatusMovedPermanently))
}

// inlineScript is a script that a page brings along, as swgui writes it.
var inlineScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// docsPolicy adds to the policy of pages what Swagger UI needs: the scripts inside
// its page, named by their hashes, styles inside it, and images inside its sheet.
func docsPolicy(page []byte) string {
	var scripts strings.Builder
	for _, script := range inlineScript.FindAllSubmatch(page, -1) {
		hash := sha256.Sum256(script[1])
		scripts.WriteString(" 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'")
	}
	return pagePolicy + "; img-src 'self' data:; script-src 'self'" + scripts.String() + "; style-src 'self' 'unsafe-inline'"
}

// pageOf is the page that a handler answers at an address, the same each time.
func pageOf(handler http.Handler, address string) []byte {
	r, _ := http.NewRequest(http.MethodGet, address, http.NoBody) // a fixed address is valid
	w := &pageWriter{header: make(http.Header)}
	handler.ServeHTTP(w, r)
	return w.Bytes()
}

// pageWriter keeps what a handler writes.
type pageWriter struct {
	bytes.Buffer

	header http.Header
}

// Header implements http.ResponseWriter.
func (w *pageWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *pageWriter) WriteHeader(int) {}

// notFoundWriter makes a handler's 404 a problem.
type notFoundWriter struct {
	http.ResponseWriter

	replaced bool
}

// WriteHeader implements http.ResponseWriter.
func (w *notFoundWriter) WriteHeader(status int) {
	if status == http.StatusNotFound {
		w.replaced = true
		problem("not_found").write(w.ResponseWriter)
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *notFoundWriter) Write(data []byte) (int, error) {
	if w.replaced {
		return len(data), nil
	}
	return w.ResponseWriter.Write(data)
}
