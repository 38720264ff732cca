package acceptance_test

import (
	"context"
	"embed"
	"io/fs"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// shownRows is how many of the rows that break a rule are shown.
const shownRows = 5

var (
	//go:embed facts.sql
	facts string
	//go:embed rules/*.sql
	rules embed.FS
)

// checkRules fails the test for every rule that does not hold in the database,
// given what the buyers sent and were told.
func checkRules(t *testing.T, db *pgxpool.Pool, l *ledger) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatalf("check the rules: %v", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // nothing is to be kept
	if _, err := tx.Exec(ctx, facts); err != nil {
		t.Fatalf("lay out the facts: %v", err)
	}
	if err := l.copyTo(ctx, tx); err != nil {
		t.Fatalf("lay out what the buyers were told: %v", err)
	}
	names, err := fs.Glob(rules, "rules/*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("there are no rules: %v", err)
	}
	for _, name := range names {
		checkRule(ctx, t, tx, name)
	}
}

func checkRule(ctx context.Context, t *testing.T, tx pgx.Tx, name string) {
	t.Helper()
	query, err := rules.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := tx.Query(ctx, `select count(*) over (), to_jsonb(violation)::text from (`+string(query)+`) violation limit $1`, shownRows)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var violations int
	var row string
	var shown []string
	_, err = pgx.ForEachRow(rows, []any{&violations, &row}, func() error {
		shown = append(shown, row)
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if violations > 0 {
		rule := strings.TrimSuffix(path.Base(name), ".sql")
		t.Errorf("rule broken: %s, by %d rows:\n\t%s", rule, violations, strings.Join(shown, "\n\t"))
	}
}

// copyTo copies the ledger into the tables that the rules read.
func (l *ledger) copyTo(ctx context.Context, tx pgx.Tx) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, table := range []struct {
		name string
		rows [][]any
	}{
		{"told", rowsOf(l.tellings, func(t telling) []any {
			return []any{
				t.how, t.node, t.key, t.sentAt, t.toldAt, t.asked,
				t.RequestID, t.SaleID, t.UserID, t.Quantity, t.Status, t.Success, t.Reason, t.OrderID,
				t.ExistingRequestID, t.ExistingOrderID, t.PayBy, t.AcceptedAt, t.DecidedAt,
			}
		})},
		{"sent", rowsOf(l.sent, func(o order) []any { return []any{o.sale, o.user, o.quantity, o.key} })},
		{"refused", rowsOf(l.refusals, func(r refusal) []any {
			return []any{r.sale, r.user, r.quantity, r.code, r.sentAt, r.toldAt}
		})},
		{"commanded", rowsOf(l.commanded, func(c commanded) []any {
			return []any{c.command, c.orderID, c.reference, c.node, c.sentAt, c.toldAt, c.answer}
		})},
		{"unknown", rowsOf(l.notFound, func(n notFound) []any { return []any{n.asked, n.node, n.toldAt} })},
	} {
		columns, err := columnsOf(ctx, tx, table.name)
		if err != nil {
			return err
		}
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{table.name}, columns, pgx.CopyFromRows(table.rows)); err != nil {
			return err
		}
	}
	return nil
}

func rowsOf[T any](values []T, row func(T) []any) [][]any {
	rows := make([][]any, len(values))
	for i, value := range values {
		rows[i] = row(value)
	}
	return rows
}

// columnsOf returns a table's columns in their order.
func columnsOf(ctx context.Context, tx pgx.Tx, table string) ([]string, error) {
	rows, err := tx.Query(ctx, "select * from "+pgx.Identifier{table}.Sanitize()+" limit 0")
	if err != nil {
		return nil, err
	}
	rows.Close()
	var names []string
	for _, column := range rows.FieldDescriptions() {
		names = append(names, column.Name)
	}
	return names, rows.Err()
}
