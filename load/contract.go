package load

import (
	"fmt"
	"time"
)

// purchase is what the service says of one request.
type purchase struct {
	RequestID string `json:"requestId"`
	SaleID    int64  `json:"saleId"`
	UserID    string `json:"userId"`
	Status    string `json:"status"`
	Reason    string `json:"reason"`
	OrderID   string `json:"orderId"`
	Links     struct {
		Self   string `json:"self"`
		Events string `json:"events"`
		WS     string `json:"ws"`
	} `json:"links"`
}

const (
	statusProcessing = "processing"
	statusSucceeded  = "succeeded"

	reasonSoldOut = "sold_out"
)

// decided reports whether the request has its result.
func (p *purchase) decided() bool { return p.Status != "" && p.Status != statusProcessing }

// outcome names the result: confirmed, or the reason it was rejected for.
func (p *purchase) outcome() string {
	switch {
	case p.Status == statusSucceeded:
		return "confirmed"
	case p.Reason != "":
		return p.Reason
	default:
		return p.Status
	}
}

// sale is what the service says of one sale.
type sale struct {
	SaleID         int64  `json:"saleId"`
	Stock          int64  `json:"stock"`
	Available      int64  `json:"available"`
	PerUserLimit   int    `json:"perUserLimit"`
	PaymentTimeout string `json:"paymentTimeout"`
}

// plan is the body of POST /sales.
type plan struct {
	Name           string    `json:"name"`
	Price          int64     `json:"price"`
	Currency       string    `json:"currency"`
	Stock          int64     `json:"stock"`
	PerUserLimit   int       `json:"perUserLimit"`
	ClosesAt       time.Time `json:"closesAt"`
	PaymentTimeout string    `json:"paymentTimeout"`
}

// refusal is an answer that is not the one the contract has for success.
type refusal struct {
	Status     int    `json:"-"`
	Code       string `json:"code"`
	retryAfter time.Duration
}

func (r *refusal) Error() string { return r.kind() }

// kind is the status with the problem's code, such as "503 overloaded".
func (r *refusal) kind() string {
	if r.Code == "" {
		return fmt.Sprint(r.Status)
	}
	return fmt.Sprintf("%d %s", r.Status, r.Code)
}

// atTheDoor reports whether the refusal is itself a result: the sale is over, or
// not on. Anything else is an error.
func (r *refusal) atTheDoor() bool { return r.Status == 409 }

// ambiguous reports whether the request may have been accepted all the same.
func (r *refusal) ambiguous() bool { return r.Status >= 500 && r.Code != "overloaded" }
