package acceptance_test

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// The statuses of a purchase.
const (
	processing = "processing"
	succeeded  = "succeeded"
	failed     = "failed"
)

// purchase is a purchase as every answer and every push shows it.
type purchase struct {
	RequestID         string     `json:"requestId"`
	SaleID            int64      `json:"saleId"`
	UserID            string     `json:"userId"`
	Quantity          int64      `json:"quantity"`
	Status            string     `json:"status"`
	Success           *bool      `json:"success"`
	Reason            *string    `json:"reason"`
	OrderID           *string    `json:"orderId"`
	ExistingRequestID *string    `json:"existingRequestId"`
	ExistingOrderID   *string    `json:"existingOrderId"`
	PayBy             *time.Time `json:"payBy"`
	AcceptedAt        *time.Time `json:"acceptedAt"`
	DecidedAt         *time.Time `json:"decidedAt"`
}

func (p purchase) decided() bool { return p.Status == succeeded || p.Status == failed }

// plan is a sale to be scheduled.
type plan struct {
	Stock          int64     `json:"stock"`
	PerUserLimit   int       `json:"perUserLimit"`
	Price          int64     `json:"price"`
	OpensAt        time.Time `json:"opensAt,omitzero"`
	ClosesAt       time.Time `json:"closesAt"`
	PaymentTimeout string    `json:"paymentTimeout"`
}

// problem is an answer other than the one that was asked for.
type problem struct {
	Status    int    `json:"status"`
	Code      string `json:"code"`
	RequestID string `json:"requestId"` // of a request whose fate is unknown
}

// Error implements error.
func (p *problem) Error() string { return fmt.Sprintf("%d %s", p.Status, p.Code) }

// passing reports whether the same call may succeed in a moment.
func (p *problem) passing() bool { return p.Status == http.StatusServiceUnavailable }

// notFound reports whether the request that was asked for is unknown.
func (p *problem) notFound() bool {
	return p.Status == http.StatusNotFound && p.Code == "request_not_found"
}

// atTheDoor are the codes with which a purchase is refused for good, each with the
// rule door_refusals_are_true to answer to.
var atTheDoor = map[string]int{
	"quantity_over_limit": http.StatusUnprocessableEntity,
	"sale_closed":         http.StatusConflict,
	"sale_not_open":       http.StatusConflict,
	"sale_paused":         http.StatusConflict,
	"sold_out":            http.StatusConflict,
}

// refusal reports whether a purchase was refused for good.
func (p *problem) refusal() bool { return atTheDoor[p.Code] == p.Status }

// orderRefusal reports whether a command on an order was refused for good.
func (p *problem) orderRefusal() bool {
	return orderRefusals[p.Code] && p.Status == http.StatusConflict
}

// errContract wraps what the contract does not have.
var errContract = errors.New("not in the contract")
