package acceptance_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// operate sends an operator's command to a node and fails the test unless it is
// carried out, or refused with the code that the operator expects.
func (s *service) operate(t *testing.T, n *node, method, path, body, mayBe string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, n.url(path), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	var sale struct{}
	if err := s.call(request, http.StatusOK, &sale); err != nil && (mayBe == "" || !strings.Contains(err.Error(), mayBe)) {
		t.Errorf("%s %s %s at node %s: %v", method, path, body, n.name, err)
	}
}

// awaitRefusal sends purchases to a node until it refuses them with that code.
func (s *service) awaitRefusal(t *testing.T, n *node, sale int64, code string) {
	t.Helper()
	buyers := 0
	eventually(t, 10*time.Second, "purchases are refused with "+code, func() bool {
		buyers++
		_, err := s.buy(t.Context(), n, order{sale: sale, user: fmt.Sprint("late-", buyers), quantity: 1})
		refused, ok := errors.AsType[*problem](err)
		return ok && refused.Code == code
	})
}

// TestOperator sells to a crowd while an operator pauses, restocks, moves and closes
// the sales, each time at another node. Every request is judged by the moment at
// which it was accepted.
func TestOperator(t *testing.T) {
	s := startService(t, 2)
	paused := s.schedule(t, plan{Stock: 5000, PerUserLimit: 2})
	restocked := s.schedule(t, plan{Stock: 100, PerUserLimit: 1})
	moved := s.schedule(t, plan{Stock: 5000, PerUserLimit: 1, OpensAt: time.Now().Add(time.Hour), ClosesAt: time.Now().Add(2 * time.Hour)})
	closed := s.schedule(t, plan{Stock: 5000, PerUserLimit: 1})
	crowd := s.send(t, population(s.nodes,
		demand{sale: paused, purchases: 500, users: 500, maxQuantity: 2},
		demand{sale: restocked, purchases: 500, users: 400, maxQuantity: 1},
		demand{sale: moved, purchases: 300, users: 300, maxQuantity: 1},
		demand{sale: closed, purchases: 300, users: 300, maxQuantity: 1},
	), 8*time.Second)

	at := func(sale int64, command string) string { return fmt.Sprintf("/sales/%d%s", sale, command) }
	for i, share := range []float64{0.1, 0.3, 0.5, 0.7, 0.85} {
		crowd.await(t, share)
		n, other := s.nodes[i%2], s.nodes[(i+1)%2]
		s.operate(t, n, http.MethodPost, at(paused, []string{"/pause", "/resume"}[i%2]), "", "")
		s.operate(t, other, http.MethodPost, at(restocked, "/stock"), `{"delta":60}`, "")
		s.operate(t, n, http.MethodPost, at(restocked, "/stock"), `{"delta":-25}`, "stock_not_available")
		switch i {
		case 0:
			s.operate(t, other, http.MethodPatch, at(moved, ""), `{"opensAt":"2020-01-01T00:00:00Z"}`, "") // at once
		case 1:
			s.operate(t, n, http.MethodPost, at(closed, "/close"), "", "")
		case 3:
			ends := time.Now().Add(500 * time.Millisecond).Format(time.RFC3339Nano)
			s.operate(t, n, http.MethodPatch, at(moved, ""), `{"closesAt":"`+ends+`"}`, "")
		}
	}

	crowd.gone()
	s.operate(t, s.nodes[0], http.MethodPost, at(paused, "/pause"), "", "")
	s.awaitRefusal(t, s.nodes[1], paused, "sale_paused")
	s.awaitRefusal(t, s.nodes[1], closed, "sale_closed")
	s.conclude(t)
	for _, sale := range []int64{paused, restocked, moved, closed} {
		s.requireOutcomes(t, sale, succeeded)
	}
	s.requireRefusals(t, paused, "sale_paused")
	s.requireRefusals(t, closed, "sale_closed")
	s.requireRefusals(t, moved, "sale_not_open")
}
