package http

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"seckill/web"
)

// pagePolicy lets a page load what this server gives it and nothing else.
const pagePolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// registerPages serves the pages. Their assets have their version in their path and
// are kept for ever; the pages themselves are asked for each time.
func (s *Server) registerPages(mux *http.ServeMux) error {
	assets, err := fs.Sub(web.FS, "assets")
	if err != nil {
		return fmt.Errorf("find the page's assets: %w", err)
	}
	mux.HandleFunc("GET /{$}", servePage(web.Index))
	mux.HandleFunc("GET /operator/{$}", servePage(web.Operator))
	mux.HandleFunc("GET /seckill.js", func(w http.ResponseWriter, r *http.Request) { // for pages of others
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", `"`+web.Version+`"`)
		http.ServeFileFS(w, r, assets, "seckill.js")
	})
	mux.Handle("GET /operator", http.RedirectHandler("/operator/", http.StatusMovedPermanently))
	mux.HandleFunc("GET /assets/{version}/{file}", func(w http.ResponseWriter, r *http.Request) {
		file := r.PathValue("file")
		if info, err := fs.Stat(assets, file); err != nil || info.IsDir() {
			problem("not_found").write(w)
			return
		}
		cache := "public, max-age=31536000, immutable"
		if r.PathValue("version") != web.Version {
			cache = "no-cache" // another version of the program made the page that asks
		}
		w.Header().Set("Cache-Control", cache)
		http.ServeFileFS(w, r, assets, file)
	})
	return nil
}

func servePage(page []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Content-Security-Policy", pagePolicy)
		w.Header().Set("ETag", `"`+web.Version+`"`)
		w.Header().Set("Referrer-Policy", "same-origin")
		http.ServeContent(w, r, "page.html", time.Time{}, bytes.NewReader(page))
	}
}
