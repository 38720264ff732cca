package browser_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/postgres/postgrestest"
)

// soon is how long what should be at once may take on a busy machine.
const soon = 30 * time.Second

// service is the program with a database of its own, as its API shows it.
type service struct {
	db   *pgxpool.Pool // for the test's own eyes
	demo sale          // the one that the program starts with
	url  string
}

func startService(t *testing.T, settings ...string) *service {
	t.Helper()
	databaseURL := postgrestest.New(t)
	db, err := pgxpool.New(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	s := &service{db: db, url: startProgram(t, databaseURL, settings...)}
	var list struct{ Sales []sale }
	s.call(t, http.MethodGet, "/sales", nil, &list)
	if len(list.Sales) != 1 {
		t.Fatalf("the program started with %d sales, want the demo sale", len(list.Sales))
	}
	s.demo = list.Sales[0]
	return s
}

// sale is a sale, to be or as it is.
type sale struct {
	Available    int64     `json:"available,omitzero"`
	ClosesAt     time.Time `json:"closesAt"`
	GoodsID      int64     `json:"goodsId,omitzero"`
	Name         string    `json:"name"`
	OpensAt      time.Time `json:"opensAt,omitzero"`
	PerUserLimit int       `json:"perUserLimit,omitzero"`
	Price        int64     `json:"price"`
	SaleID       int64     `json:"saleId,omitzero"`
	Stock        int64     `json:"stock"`
}

// schedule schedules a sale. It closes in an hour unless it says otherwise.
func (s *service) schedule(t *testing.T, plan sale) sale {
	t.Helper()
	plan.Name = t.Name()
	plan.Price = 199_900
	if plan.ClosesAt.IsZero() {
		plan.ClosesAt = time.Now().Add(time.Hour)
	}
	var scheduled sale
	s.call(t, http.MethodPost, "/sales", plan, &scheduled)
	return scheduled
}

// purchase is a purchase as the service tells of it.
type purchase struct {
	OrderID   string
	Reason    string
	RequestID string
	Status    string
}

// accept has the service accept a purchase of one unit.
func (s *service) accept(t *testing.T, saleID int64, user string) purchase {
	t.Helper()
	var accepted purchase
	s.call(t, http.MethodPost, fmt.Sprintf("/sales/%d/purchases", saleID), map[string]any{"userId": user, "quantity": 1}, &accepted)
	return accepted
}

// result waits for the result of a purchase.
func (s *service) result(t *testing.T, requestID string) purchase {
	t.Helper()
	var result purchase
	s.call(t, http.MethodGet, "/purchases/"+requestID+"?wait=20s", nil, &result)
	return result
}

// win buys one unit.
func (s *service) win(t *testing.T, saleID int64, user string) {
	t.Helper()
	if got := s.result(t, s.accept(t, saleID, user).RequestID); got.Status != "succeeded" {
		t.Fatalf("buyer %s: got %+v, want it to succeed", user, got)
	}
}

// order is an order as the service tells of it.
type order struct {
	OrderID   string
	RequestID string
	SaleID    int64
	Status    string
	UserID    string
}

// order reads an order.
func (s *service) order(t *testing.T, id string) order {
	t.Helper()
	var read order
	s.call(t, http.MethodGet, "/orders/"+id, nil, &read)
	return read
}

// call calls the API and fails the test unless the answer is of status 2xx.
func (s *service) call(t *testing.T, method, path string, body, answer any) {
	t.Helper()
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, &content)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Close = true // no connection of the test's stays behind
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		t.Fatalf("%s %s answered %s", method, path, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
}

// hold keeps the service from deciding a sale's purchases until release is
// called: it accepts them, and they wait.
func (s *service) hold(t *testing.T, saleID int64) (release func()) {
	t.Helper()
	tx, err := s.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release = func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) } // once is enough
	t.Cleanup(release)
	if _, err := tx.Exec(t.Context(), "select from sales where sale_id = $1 for no key update", saleID); err != nil {
		t.Fatal(err)
	}
	return release
}

// events counts a sale's events of each type.
func (s *service) events(t *testing.T, saleID int64) map[string]int {
	t.Helper()
	rows, err := s.db.Query(t.Context(), "select type, count(*) from events where sale_id = $1 group by type", saleID)
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	var name string
	var count int
	if _, err := pgx.ForEachRow(rows, []any{&name, &count}, func() error {
		counts[name] = count
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return counts
}
