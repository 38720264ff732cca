package noop

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

type sale struct {
	plan plan
	id   int64
	sold atomic.Int64
}

// plan is the body of POST /sales.
type plan struct {
	GoodsID        int64  `json:"goodsId"`
	Name           string `json:"name"`
	Price          int64  `json:"price"`
	Currency       string `json:"currency"`
	Stock          int64  `json:"stock"`
	PerUserLimit   int    `json:"perUserLimit"`
	OpensAt        string `json:"opensAt"`
	ClosesAt       string `json:"closesAt"`
	PaymentTimeout string `json:"paymentTimeout"`
}

// saleBody is how a sale is shown.
type saleBody struct {
	SaleID int64 `json:"saleId"`
	plan
	Available  int64  `json:"available"`
	Status     string `json:"status"`
	Revision   int64  `json:"revision"`
	ServerTime string `json:"serverTime"`
}

func (h *Handler) createSale(w http.ResponseWriter, r *http.Request) {
	s := &sale{}
	if !read(w, r, &s.plan) {
		return
	}
	s.id = h.last.Add(1)
	if s.plan.GoodsID == 0 {
		s.plan.GoodsID = s.id
	}
	if s.plan.PerUserLimit == 0 {
		s.plan.PerUserLimit = 1
	}
	h.sales.Store(s.id, s)
	w.Header().Set("Location", "/sales/"+strconv.FormatInt(s.id, 10))
	write(w, http.StatusCreated, s.body())
}

func (h *Handler) readSale(w http.ResponseWriter, r *http.Request) {
	s, ok := h.sale(r)
	if !ok {
		refuse(w, http.StatusNotFound, "sale_not_found")
		return
	}
	write(w, http.StatusOK, s.body())
}

func (s *sale) body() saleBody {
	sold := s.sold.Load()
	return saleBody{
		SaleID:     s.id,
		plan:       s.plan,
		Available:  s.plan.Stock - sold,
		Status:     "open",
		Revision:   sold + 1,
		ServerTime: stamp(time.Now()),
	}
}
