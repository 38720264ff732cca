package http

import (
	"net/http"

	"github.com/swaggest/swgui/v5emb"
)

// registerDocs serves the API's description for people, without the internet.
// The description itself is huma's, at /openapi.json and /openapi.yaml.
func registerDocs(mux *http.ServeMux) {
	docs := v5emb.New("Seckill API", "/openapi.json", "/docs/")
	mux.HandleFunc("GET /docs/", func(w http.ResponseWriter, r *http.Request) {
		docs.ServeHTTP(&notFoundWriter{ResponseWriter: w}, r)
	})
	mux.Handle("GET /docs", http.RedirectHandler("/docs/", http.StatusMovedPermanently))
}

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
