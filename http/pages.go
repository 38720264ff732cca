package http

import (
	"fmt"
	"io/fs"
	"net/http"

	"seckill/web"
)

// pagePolicy lets a page load what this server gives it and nothing else.
const pagePolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// registerPages serves the pages. Their assets have their version in their path and
// are kept for ever; the pages themselves are asked for each time.
func (s *Server) registerPages(mux *http.ServeMux) error {
	assets, err := loadAssets()
	if err != nil {
		return fmt.Errorf("load the pages' assets: %w", err)
	}
	mux.HandleFunc("GET /{$}", servePage(web.Index))
	mux.HandleFunc("GET /operator/{$}", servePage(web.Operator))
	mux.HandleFunc("GET /seckill.js", func(w http.ResponseWriter, r *http.Request) { // for pages of others
		w.Header().Set("Cache-Control", "no-cache")
		assets["seckill.js"].ServeHTTP(w, r)
	})
	mux.Handle("GET /operator", http.RedirectHandler("/operator/", http.StatusMovedPermanently))
	mux.HandleFunc("GET /assets/{version}/{file}", func(w http.ResponseWriter, r *http.Request) {
		file, ok := assets[r.PathValue("file")]
		if !ok {
			problem("not_found").write(w)
			return
		}
		cache := "public, max-age=31536000, immutable"
		if r.PathValue("version") != web.Version {
			cache = "no-cache" // another version of the program made the page that asks
		}
		w.Header().Set("Cache-Control", cache)
		w.Header().Set("Content-Security-Policy", pagePolicy) // a script that is a worker has its own
		file.ServeHTTP(w, r)
	})
	return nil
}

// loadAssets returns the assets by the name of their file.
func loadAssets() (map[string]*asset, error) {
	entries, err := fs.ReadDir(web.FS, "assets")
	if err != nil {
		return nil, err
	}
	assets := make(map[string]*asset, len(entries))
	for _, entry := range entries {
		content, err := fs.ReadFile(web.FS, "assets/"+entry.Name())
		if err != nil {
			return nil, err
		}
		assets[entry.Name()] = newAsset(entry.Name(), web.Version, content)
	}
	return assets, nil
}

func servePage(content []byte) http.HandlerFunc {
	page := newAsset("page.html", web.Version, content)
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		guardPage(w.Header(), pagePolicy)
		page.ServeHTTP(w, r)
	}
}

// guardPage says what a page may do, and keeps other origins away from its window.
func guardPage(header http.Header, policy string) {
	header.Set("Content-Security-Policy", policy)
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Referrer-Policy", "same-origin")
}
