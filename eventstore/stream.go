package eventstore

import (
	"github.com/google/uuid"

	"seckill/domain"
)

// Stream is the history of one aggregate as its caller knows it, with what is to
// be appended at its end.
type Stream struct {
	ID     uuid.UUID
	SaleID int64
	Events []Event // from version 1 on; the last ones may still be unrecorded

	recorded int
}

// NewStream is a stream without events.
func NewStream(id uuid.UUID, saleID int64) *Stream {
	return &Stream{ID: id, SaleID: saleID}
}

// LoadedStream is a stream whose whole history was read. The events must not be
// empty and must begin with version 1.
func LoadedStream(events []Event) *Stream {
	return &Stream{ID: events[0].StreamID, SaleID: events[0].SaleID, Events: events, recorded: len(events)}
}

// Record adds an event at the end, to be stored by Store.Append or Store.Start.
// Metadata is a JSON object, or nil.
func (s *Stream) Record(data domain.Event, metadata []byte) {
	s.Events = append(s.Events, Event{
		StreamID: s.ID,
		Version:  len(s.Events) + 1,
		SaleID:   s.SaleID,
		Data:     data,
		Metadata: metadata,
	})
}

// Version is that of the last event, recorded or not; 0 for an empty stream.
func (s *Stream) Version() int { return len(s.Events) }

func (s *Stream) unrecorded() []Event { return s.Events[s.recorded:] }
