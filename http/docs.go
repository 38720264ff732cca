package http

import (
	"net/http"

	"github.com/swaggest/swgui/v5emb"
)

// registerDocs serves the API's description for people, without the internet.
// The description itself is huma's, at /openapi.json and /openapi.yaml.
func registerDocs(mux *http.ServeMux) {
	docs := v5emb.New("Seckill API", "/openapi.json", "/docs/")
	mux.Handle("GET /docs/", docs)
	mux.Handle("GET /docs", http.RedirectHandler("/docs/", http.StatusMovedPermanently))
}
