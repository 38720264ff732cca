package acceptance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// Commands on an order.
const (
	byPay    = "pay"
	byCancel = "cancel"
	byRefund = "refund"
)

// ending is what a buyer does with an order.
type ending []string

// endings are the ways in which buyers deal with what they have won. Those who do
// nothing let it expire, if it expires soon.
var endings = []ending{
	{}, {},
	{byPay}, {byPay, byPay},
	{byCancel}, {byCancel, byPay},
	{byPay, byCancel},
	{byPay, byRefund, byRefund},
	{byRefund},
}

// commanded is one answer to a command on an order.
type commanded struct {
	answer    string // the order's status, or the code of the refusal
	command   string
	node      string
	orderID   string
	reference string
	sentAt    time.Time
	toldAt    time.Time
}

// orderRefusals are the codes with which a command on an order is refused for good,
// each with the rule commands_are_answered_truly to answer to.
var orderRefusals = map[string]bool{
	"order_cancelled":  true,
	"order_expired":    true,
	"order_not_paid":   true,
	"order_paid":       true,
	"payment_too_late": true,
}

// end gives the commands of the buyer's ending one after the other, each to another
// node, and each again until it is answered.
func (b *buyer) end(ctx context.Context, s *shop, won purchase) {
	for i, command := range b.ending {
		for try := 0; ; try++ {
			err := s.command(ctx, b.node(b.followAt+i+try), command, won)
			if err == nil || errors.Is(err, errContract) {
				break
			}
			if !pause(ctx, restAfter(try)) {
				return
			}
		}
	}
}

// command gives a command on an order, and writes the answer into the ledger.
func (s *shop) command(ctx context.Context, n *node, command string, won purchase) error {
	ctx, cancel := context.WithTimeout(ctx, pollPatience)
	defer cancel()
	told := commanded{command: command, node: n.name, orderID: *won.OrderID, sentAt: time.Now()}
	fields := map[string]any{"userId": won.UserID}
	if command != byCancel {
		told.reference = command + " of " + won.RequestID
		fields = map[string]any{"paymentReference": told.reference}
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url("/orders/"+told.orderID+"/"+command), bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	var shown struct {
		Status string `json:"status"`
	}
	err = s.call(request, http.StatusOK, &shown)
	told.toldAt = time.Now()
	told.answer = shown.Status
	if answered, ok := errors.AsType[*problem](err); ok && answered.orderRefusal() {
		told.answer = answered.Code
		err = nil
	}
	if err != nil {
		s.ledger.addFailure(command, n.name, err)
		return err
	}
	s.ledger.addCommanded(told)
	return nil
}
