package noop

import (
	"encoding/base32"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// order is the body of POST /sales/{saleId}/purchases.
type order struct {
	UserID   string `json:"userId"`
	Quantity int    `json:"quantity"`
}

// purchase is the body of a 202, of GET /purchases/{requestId} and of a push.
type purchase struct {
	RequestID  string `json:"requestId"`
	SaleID     int64  `json:"saleId,omitempty"`
	UserID     string `json:"userId,omitempty"`
	Quantity   int    `json:"quantity,omitempty"`
	Status     string `json:"status"`
	Success    *bool  `json:"success,omitempty"`
	Message    string `json:"message"`
	OrderID    string `json:"orderId,omitempty"`
	PayBy      string `json:"payBy,omitempty"`
	AcceptedAt string `json:"acceptedAt"`
	DecidedAt  string `json:"decidedAt,omitempty"`
	Links      links  `json:"links"`
}

type links struct {
	Self   string `json:"self"`
	Events string `json:"events"`
}

func (h *Handler) submit(w http.ResponseWriter, r *http.Request) {
	s, ok := h.sale(r)
	if !ok {
		refuse(w, http.StatusNotFound, "sale_not_found")
		return
	}
	o := order{Quantity: 1}
	if !read(w, r, &o) {
		return
	}
	if o.UserID == "" {
		refuse(w, http.StatusUnprocessableEntity, "user_required")
		return
	}
	id, err := uuid.NewV7()
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, "unavailable")
		return
	}
	s.sold.Add(int64(o.Quantity))

	p := processing(id.String(), s.id, o)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", "/purchases/"+p.RequestID)
	write(w, http.StatusAccepted, p)
}

// readPurchase answers a plain read and a long poll alike: the result is there.
func (h *Handler) readPurchase(w http.ResponseWriter, r *http.Request) {
	p, ok := asked(r)
	if !ok {
		refuse(w, http.StatusNotFound, "request_not_found")
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Vary", "Prefer")
	write(w, http.StatusOK, p.won())
}

func (h *Handler) streamPurchase(w http.ResponseWriter, r *http.Request) {
	p, ok := asked(r)
	if !ok {
		refuse(w, http.StatusNotFound, "request_not_found")
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/event-stream")
	flusher := http.NewResponseController(w)
	for _, message := range [][]byte{event("processing", "1", p), event("result", "2", p.won())} {
		if _, err := w.Write(message); err != nil {
			return
		}
		if err := flusher.Flush(); err != nil {
			return
		}
	}
}

// asked is the purchase that a request is about. Nothing is remembered: what was
// bought, and by whom, stands in the query that the 202's links carry.
func asked(r *http.Request) (purchase, bool) {
	id := r.PathValue("requestId")
	if uuid.Validate(id) != nil {
		return purchase{}, false
	}
	query := r.URL.Query()
	saleID, _ := strconv.ParseInt(query.Get("saleId"), 10, 64) // absent where the caller has only the ID
	quantity, _ := strconv.Atoi(query.Get("quantity"))
	return processing(id, saleID, order{UserID: query.Get("userId"), Quantity: quantity}), true
}

func processing(id string, saleID int64, o order) purchase {
	self := "/purchases/" + id
	query := "?userId=" + url.QueryEscape(o.UserID) +
		"&saleId=" + strconv.FormatInt(saleID, 10) +
		"&quantity=" + strconv.Itoa(o.Quantity)
	return purchase{
		RequestID:  id,
		SaleID:     saleID,
		UserID:     o.UserID,
		Quantity:   o.Quantity,
		Status:     "processing",
		Message:    "Your request is being processed.",
		AcceptedAt: stamp(time.Now()),
		Links:      links{Self: self + query, Events: self + "/events" + query},
	}
}

// won is the purchase with its result. The order's number follows from the
// request's ID, so that asking twice gives the same answer.
func (p purchase) won() purchase {
	won := true
	id := uuid.MustParse(p.RequestID)
	now := time.Now()
	p.Status = "succeeded"
	p.Success = &won
	p.Message = "You got it. Please pay in time."
	p.OrderID = base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(id[6:])
	p.PayBy = stamp(now.Add(15 * time.Minute))
	p.DecidedAt = stamp(now)
	return p
}

func event(name, id string, p purchase) []byte {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // only values of this package are written
	}
	message := make([]byte, 0, len(data)+64)
	message = append(message, "event: "...)
	message = append(message, name...)
	message = append(message, "\nid: "...)
	message = append(message, id...)
	message = append(message, "\ndata: "...)
	message = append(message, data...)
	return append(message, "\n\n"...)
}
