package eventstore

import (
	"time"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/queries"
)

// Event is a recorded event.
type Event struct {
	StreamID      uuid.UUID
	Version       int // place in the stream, from 1
	TransactionID int64
	SaleID        int64
	Data          domain.Event
	Metadata      []byte    // JSON object: actor, trace, address class; {} when absent
	RecordedAt    time.Time // by the database's clock
}

// FromRow decodes a stored row.
func FromRow(row queries.Event) Event {
	return Event{
		StreamID:      row.StreamID,
		Version:       int(row.Version),
		TransactionID: row.TransactionID,
		SaleID:        row.SaleID,
		Data:          domain.Decode(row.Type, row.Data),
		Metadata:      row.Metadata,
		RecordedAt:    row.RecordedAt,
	}
}

func fromRows(rows []queries.Event) []Event {
	events := make([]Event, len(rows))
	for i, row := range rows {
		events[i] = FromRow(row)
	}
	return events
}
