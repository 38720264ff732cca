package queries

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Pipeline collects statements that return no rows and sends them together, in
// one round trip. It is a DBTX, so New(pipeline).UpsertOrders(…) queues the
// statement; its error comes from Send.
type Pipeline struct {
	batch pgx.Batch
}

// Exec queues a statement. It never fails and its tag is empty.
func (p *Pipeline) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	p.batch.Queue(sql, args...)
	return pgconn.CommandTag{}, nil
}

var errPipelineQuery = errors.New("a pipeline takes no statement that returns rows")

// Query returns an error: a pipeline has no rows to give.
func (p *Pipeline) Query(context.Context, string, ...any) (pgx.Rows, error) {
	return nil, errPipelineQuery
}

// QueryRow returns a row whose Scan returns an error.
func (p *Pipeline) QueryRow(context.Context, string, ...any) pgx.Row {
	return failedRow{}
}

type failedRow struct{}

func (failedRow) Scan(...any) error { return errPipelineQuery }

// Send runs what was queued, in order, in the transaction, and returns the
// first error. The pipeline is spent afterwards.
func (p *Pipeline) Send(ctx context.Context, tx pgx.Tx) error {
	if p.batch.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, &p.batch).Close()
}
