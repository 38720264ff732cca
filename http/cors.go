package http

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/rs/cors"
)

// CheckOrigin returns an error unless the text is an origin as browsers send it, such
// as https://shop.example or http://localhost:3000.
func CheckOrigin(text string) error {
	origin, err := url.Parse(text)
	if err != nil || (origin.Scheme != "http" && origin.Scheme != "https") || origin.Host == "" ||
		text != origin.Scheme+"://"+strings.ToLower(origin.Host) || strings.Contains(text, "*") {
		return fmt.Errorf("%q is no origin such as https://shop.example", text)
	}
	return nil
}

// allowOrigins lets pages of these other origins use the API. Without any, browsers
// let none. Cookies are never sent along.
func allowOrigins(origins []string, next http.Handler) http.Handler {
	if len(origins) == 0 {
		return next
	}
	return cors.New(cors.Options{
		AllowedHeaders: []string{"Accept-Language", "Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "Prefer"},
		AllowedMethods: []string{http.MethodGet, http.MethodPatch, http.MethodPost},
		AllowedOrigins: origins,
		ExposedHeaders: []string{"Location", "Preference-Applied", "Retry-After", requestIDHeader},
		MaxAge:         600, // seconds
	}).Handler(next)
}
