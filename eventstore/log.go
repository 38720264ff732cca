package eventstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"seckill/queries"
)

// Cursor is a place in the log, after the event that it names. The zero cursor
// is the log's beginning.
type Cursor struct {
	TransactionID int64
	Position      int64
}

// Record is an event as it is stored, for readers that pass it on undecoded.
type Record struct {
	Cursor

	StreamID   uuid.UUID
	Version    int
	SaleID     int64
	Type       string
	Data       json.RawMessage
	Metadata   json.RawMessage
	RecordedAt time.Time
}

// ReadLog returns up to limit events after the cursor, in the global order, each
// with its own cursor. It stops before the first transaction that could still be
// preceded by one in progress, so that a reader who goes from cursor to cursor
// sees every event once, however late it commits.
func (s *Store) ReadLog(ctx context.Context, db queries.DBTX, after Cursor, limit int) ([]Record, error) {
	rows, err := queries.New(db).ReadLog(ctx, queries.ReadLogParams{
		AfterTransactionID: after.TransactionID,
		AfterPosition:      after.Position,
		MaxEvents:          int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	records := make([]Record, len(rows))
	for i, row := range rows {
		records[i] = Record{
			Cursor:     Cursor{TransactionID: row.TransactionID, Position: row.Position},
			StreamID:   row.StreamID,
			Version:    int(row.Version),
			SaleID:     row.SaleID,
			Type:       row.Type,
			Data:       row.Data,
			Metadata:   row.Metadata,
			RecordedAt: row.RecordedAt,
		}
	}
	return records, nil
}
