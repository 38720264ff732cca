// Package audit compares what the tables hold with what the events say: stock,
// allowances, orders and results are computed anew, by SQL that shares no code with
// what keeps them.
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"seckill/queries"
)

// Kind says what differs.
type Kind string

// The kinds of differences.
const (
	KindSale      Kind = "sale"      // the terms, pauses and stock of a sale
	KindAllowance Kind = "allowance" // what a buyer holds of a sale
	KindOrder     Kind = "order"
	KindResult    Kind = "result"
	KindStream    Kind = "stream" // a history that cannot be, or a purchase without an outcome
)

const (
	// resultsKept is for how long after its acceptance a purchase must have a result:
	// well below the least retention.
	resultsKept = 5 * time.Minute
	// undecidedFor is how long a purchase may be without an outcome.
	undecidedFor = time.Minute
)

// Difference is one row that is not as the events have it.
type Difference struct {
	Kind     Kind            `json:"kind"`
	SaleID   int64           `json:"saleId,omitempty"` // 0 where it belongs to no sale of the history
	Key      string          `json:"key"`              // of the row: a sale, user, order or request
	Expected json.RawMessage `json:"expected"`         // null: there should be none
	Stored   json.RawMessage `json:"stored"`           // null: there is none
}

// Report is what an audit found.
type Report struct {
	Sales       int          `json:"sales"`
	Differences []Difference `json:"differences"`
}

// Run audits the database of a connection, which must not be used by others
// meanwhile. Each sale is read in a snapshot of its own that takes no lock, so it may
// run beside live traffic, and holds up the cleaning of dead rows for no longer than
// its largest sale takes.
func Run(ctx context.Context, conn *pgx.Conn) (Report, error) {
	report := Report{Differences: []Difference{}}
	sales, err := queries.New(conn).AuditedSales(ctx)
	if err != nil {
		return report, fmt.Errorf("list sales: %w", err)
	}
	for _, sale := range sales {
		found, err := inSnapshot(ctx, conn, func(q *queries.Queries) ([]Difference, error) { return auditSale(ctx, q, sale) })
		if err != nil {
			return report, fmt.Errorf("audit sale %d: %w", sale, err)
		}
		report.Sales++
		report.Differences = append(report.Differences, found...)
	}
	found, err := inSnapshot(ctx, conn, func(q *queries.Queries) ([]Difference, error) { return auditTables(ctx, q) })
	if err != nil {
		return report, err
	}
	report.Differences = append(report.Differences, found...)
	return report, nil
}

// inSnapshot reads what belongs together as it was at one moment.
func inSnapshot(ctx context.Context, conn *pgx.Conn, read func(*queries.Queries) ([]Difference, error)) (found []Difference, err error) {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, conn, options, func(tx pgx.Tx) error {
		found, err = read(queries.New(tx))
		return err
	})
	return found, err
}

// auditSale compares what belongs to one sale.
func auditSale(ctx context.Context, q *queries.Queries, saleID int64) ([]Difference, error) {
	var found []Difference
	sale, err := q.AuditSale(ctx, saleID)
	if err != nil {
		return nil, fmt.Errorf("its row: %w", err)
	}
	for _, row := range sale {
		found = append(found, Difference{KindSale, saleID, row.Key, row.Expected, row.Stored})
	}
	allowances, err := q.AuditAllowances(ctx, saleID)
	if err != nil {
		return nil, fmt.Errorf("allowances: %w", err)
	}
	for _, row := range allowances {
		found = append(found, Difference{KindAllowance, saleID, row.Key, row.Expected, row.Stored})
	}
	orders, err := q.AuditOrders(ctx, saleID)
	if err != nil {
		return nil, fmt.Errorf("orders: %w", err)
	}
	for _, row := range orders {
		found = append(found, Difference{KindOrder, saleID, row.Key, row.Expected, row.Stored})
	}
	missing, err := q.AuditMissingResults(ctx, queries.AuditMissingResultsParams{SaleID: saleID, Kept: interval(resultsKept)})
	if err != nil {
		return nil, fmt.Errorf("missing results: %w", err)
	}
	for _, row := range missing {
		found = append(found, Difference{KindResult, saleID, row.Key, row.Expected, row.Stored})
	}
	streams, err := q.AuditStreams(ctx, queries.AuditStreamsParams{SaleID: saleID, Undecided: interval(undecidedFor)})
	if err != nil {
		return nil, fmt.Errorf("streams: %w", err)
	}
	for _, row := range streams {
		found = append(found, Difference{KindStream, saleID, row.Key, row.Expected, row.Stored})
	}
	return found, nil
}

// auditTables looks for rows that no event accounts for, in tables that are not read
// by sale.
func auditTables(ctx context.Context, q *queries.Queries) ([]Difference, error) {
	var found []Difference
	results, err := q.AuditResults(ctx)
	if err != nil {
		return nil, fmt.Errorf("audit results: %w", err)
	}
	for _, row := range results {
		found = append(found, Difference{KindResult, 0, row.Key, row.Expected, row.Stored})
	}
	orders, err := q.AuditExtraOrders(ctx)
	if err != nil {
		return nil, fmt.Errorf("audit orders: %w", err)
	}
	for _, row := range orders {
		found = append(found, Difference{KindOrder, 0, row.Key, row.Expected, row.Stored})
	}
	return found, nil
}

func interval(d time.Duration) pgtype.Interval {
	return pgtype.Interval{Microseconds: d.Microseconds(), Valid: true}
}
