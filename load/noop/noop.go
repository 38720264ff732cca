// Package noop answers the service's HTTP contract without doing anything: no
// decision, no database, no waiting. Every purchase has won by the time it is
// asked about. Under the same load, what it reaches on a machine is the ceiling
// of anything that speaks this contract there through net/http.
package noop

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// maxBody bounds what a request may send.
const maxBody = 64 << 10

// Handler answers for the sales that were created through it. It keeps nothing
// of a purchase but the count of units, so GET /sales/{saleId} stays truthful.
type Handler struct {
	mux   *http.ServeMux
	sales sync.Map // sale ID (int64) to *sale
	last  atomic.Int64
}

// New returns a Handler without sales.
func New() *Handler {
	h := &Handler{mux: http.NewServeMux()}
	h.mux.HandleFunc("GET /readyz", h.ready)
	h.mux.HandleFunc("POST /sales", h.createSale)
	h.mux.HandleFunc("GET /sales/{saleId}", h.readSale)
	h.mux.HandleFunc("POST /sales/{saleId}/purchases", h.submit)
	h.mux.HandleFunc("GET /purchases/{requestId}", h.readPurchase)
	h.mux.HandleFunc("GET /purchases/{requestId}/events", h.streamPurchase)
	return h
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mux.ServeHTTP(w, r)
}

func (h *Handler) ready(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, map[string]string{"status": "ready"})
}

func (h *Handler) sale(r *http.Request) (*sale, bool) {
	id, err := strconv.ParseInt(r.PathValue("saleId"), 10, 64)
	if err != nil {
		return nil, false
	}
	found, ok := h.sales.Load(id)
	if !ok {
		return nil, false
	}
	return found.(*sale), true
}

// read decodes the request's JSON and answers for it where it cannot.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(into)
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		refuse(w, http.StatusRequestEntityTooLarge, "body_too_large")
		return false
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_json")
		return false
	}
	return true
}

func write(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err) // only values of this package are written
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // a client that has left is no concern of the server
}

func refuse(w http.ResponseWriter, status int, code string) {
	data, err := json.Marshal(map[string]any{
		"title": http.StatusText(status), "status": status, "code": code,
	})
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// stamp writes a time as the service does.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
