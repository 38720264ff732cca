package acceptance_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// requireOutcomes fails the test unless a sale's purchases had each of these
// outcomes, decided or at the door: rules that nothing could break show nothing.
func (s *service) requireOutcomes(t *testing.T, saleID int64, outcomes ...string) {
	t.Helper()
	rows, err := s.db.Query(t.Context(), `
		select coalesce(reason, status), count(*) from purchase_results where sale_id = $1 group by 1`, saleID)
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	var outcome string
	var count int
	if _, err := pgx.ForEachRow(rows, []any{&outcome, &count}, func() error {
		counts[outcome] = count
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	refused := s.ledger.refusalsByCode(saleID)
	t.Logf("sale %d: %v, refused at the door: %v", saleID, counts, refused)
	for _, outcome := range outcomes {
		if counts[outcome]+refused[outcome] == 0 {
			t.Errorf("sale %d: no purchase ended with %s", saleID, outcome)
		}
	}
}

// requireEndings fails the test unless a sale's orders have each of these statuses.
func (s *service) requireEndings(t *testing.T, saleID int64, statuses ...string) {
	t.Helper()
	rows, err := s.db.Query(t.Context(), "select status, count(*) from orders where sale_id = $1 group by 1", saleID)
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	var status string
	var count int
	if _, err := pgx.ForEachRow(rows, []any{&status, &count}, func() error {
		counts[status] = count
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("orders of sale %d: %v", saleID, counts)
	for _, status := range statuses {
		if counts[status] == 0 {
			t.Errorf("sale %d: no order is %s", saleID, status)
		}
	}
}

// requireRefusals fails the test unless purchases were refused at the door with each
// of these codes.
func (s *service) requireRefusals(t *testing.T, saleID int64, codes ...string) {
	t.Helper()
	counts := s.ledger.refusalsByCode(saleID)
	t.Logf("refused at the door: %v", counts)
	for _, code := range codes {
		if counts[code] == 0 {
			t.Errorf("no purchase was refused with %s", code)
		}
	}
}

// awaitResult waits on a node for a result, by long poll.
func (s *service) awaitResult(t *testing.T, n *node, requestID string) purchase {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	result, err := s.ask(ctx, n, requestID, 15*time.Second)
	if err != nil {
		t.Fatalf("ask node %s: %v", n.name, err)
	}
	if !result.decided() {
		t.Fatalf("request %s is not decided after 15 s", requestID)
	}
	return result
}

// requireAnswers fails the test if a request was accepted whose buyer has got no
// 202, though all were patient.
func (s *service) requireAnswers(t *testing.T) {
	t.Helper()
	accepted := s.ledger.accepted()
	rows, err := s.db.Query(t.Context(), "select stream_id::text from events where type = 'PurchaseRequested'")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	unanswered := slices.DeleteFunc(ids, func(id string) bool { return accepted[id] })
	if len(unanswered) > 0 {
		t.Errorf("%d requests were accepted whose buyers were not answered, the first of them %s", len(unanswered), unanswered[0])
	}
}
