package eventstore

import (
	"context"
	"fmt"

	"seckill/queries"
)

// Cursor is a place in the log, after the event that it names. The zero cursor
// is the log's beginning.
type Cursor struct {
	TransactionID int64
	Position      int64
}

// ReadLog returns up to limit events after the cursor and the cursor after the
// last of them, in the global order. It stops before the first transaction that
// could still be preceded by one in progress, so that a reader who goes from
// cursor to cursor sees every event once, however late it commits.
func (s *Store) ReadLog(ctx context.Context, db queries.DBTX, after Cursor, limit int) ([]Event, Cursor, error) {
	rows, err := queries.New(db).ReadLog(ctx, queries.ReadLogParams{
		AfterTransactionID: after.TransactionID,
		AfterPosition:      after.Position,
		MaxEvents:          int32(limit),
	})
	if err != nil {
		return nil, after, fmt.Errorf("read the log: %w", err)
	}
	events := fromRows(rows)
	if len(rows) > 0 {
		last := rows[len(rows)-1]
		after = Cursor{TransactionID: last.TransactionID, Position: last.Position}
	}
	return events, after, nil
}
