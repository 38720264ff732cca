package eventstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"seckill/queries"
)

// ErrVersionConflict is returned when a stream has moved on since it was read:
// the version to append exists already, or the one before it does not exist.
var ErrVersionConflict = errors.New("the stream has another version than expected")

// Projection keeps a read model. Project is given streams to which events were
// just appended, with their whole history, and queues the statements that bring
// its rows to the streams' versions. It must not depend on having seen earlier
// events, so that a rebuild can call it for any stream.
type Projection interface {
	Project(ctx context.Context, writes *queries.Pipeline, streams []*Stream) error
}

// Store appends events and reads them back. It is safe for concurrent use.
type Store struct {
	projections []Projection
}

// New returns a store that applies the projections in the transactions that append.
func New(inline ...Projection) *Store {
	return &Store{projections: inline}
}

// Appended says where and when events were recorded.
type Appended struct {
	Count         int
	TransactionID int64
	RecordedAt    time.Time
}

// Append stores the unrecorded events of the streams in the transaction, and
// queues the inline projections and the notice of the commit to writes, which
// the caller sends before it commits. It returns ErrVersionConflict if a stream
// has another version than its caller knew; the transaction is of no use then.
func (s *Store) Append(ctx context.Context, tx pgx.Tx, writes *queries.Pipeline, streams ...*Stream) (Appended, error) {
	columns, err := columnsOf(streams)
	if err != nil {
		return Appended{}, err
	}
	row, err := queries.New(tx).AppendEvents(ctx, columns)
	if err != nil {
		if isUniqueViolation(err) {
			return Appended{}, ErrVersionConflict
		}
		return Appended{}, fmt.Errorf("append events: %w", err)
	}
	if int(row.Appended) != len(columns.StreamIds) {
		return Appended{}, ErrVersionConflict
	}
	appended := Appended{Count: int(row.Appended), TransactionID: row.TransactionID, RecordedAt: row.RecordedAt}
	for _, stream := range streams {
		stream.setRecorded(appended)
	}
	for _, projection := range s.projections {
		if err := projection.Project(ctx, writes, streams); err != nil {
			return Appended{}, fmt.Errorf("project: %w", err)
		}
	}
	if err := queries.New(writes).NotifyCommitted(ctx, appended.TransactionID); err != nil {
		return Appended{}, err
	}
	return appended, nil
}

// Start stores the first events of new streams. A stream that exists already is
// left as it is and not counted, so that a caller who does not know whether an
// earlier attempt was committed can repeat it. Nothing is projected or announced.
func (s *Store) Start(ctx context.Context, tx pgx.Tx, streams ...*Stream) (Appended, error) {
	columns, err := columnsOf(streams)
	if err != nil {
		return Appended{}, err
	}
	row, err := queries.New(tx).StartStreams(ctx, queries.StartStreamsParams{
		StreamIds: columns.StreamIds,
		SaleIds:   columns.SaleIds,
		Types:     columns.Types,
		Data:      columns.Data,
		Metadata:  columns.Metadata,
	})
	if err != nil {
		return Appended{}, fmt.Errorf("start streams: %w", err)
	}
	appended := Appended{Count: int(row.Appended), TransactionID: row.TransactionID, RecordedAt: row.RecordedAt}
	if appended.Count == len(streams) {
		for _, stream := range streams {
			stream.setRecorded(appended)
		}
	}
	return appended, nil
}

// ReadStream returns a stream's events in order; none if it does not exist.
func (s *Store) ReadStream(ctx context.Context, db queries.DBTX, id uuid.UUID) ([]Event, error) {
	rows, err := queries.New(db).ReadStream(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read stream %s: %w", id, err)
	}
	return fromRows(rows), nil
}

// ReadStreams returns the events of several streams, ordered by stream and version.
func (s *Store) ReadStreams(ctx context.Context, db queries.DBTX, ids []uuid.UUID) ([]Event, error) {
	rows, err := queries.New(db).ReadStreams(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d streams: %w", len(ids), err)
	}
	return fromRows(rows), nil
}

// ReadTransactions returns what the transactions appended, in the global order.
func (s *Store) ReadTransactions(ctx context.Context, db queries.DBTX, ids []int64) ([]Event, error) {
	rows, err := queries.New(db).ReadTransactions(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d transactions: %w", len(ids), err)
	}
	return fromRows(rows), nil
}

type columns = queries.AppendEventsParams

func columnsOf(streams []*Stream) (columns, error) {
	n := len(streams)
	c := columns{
		StreamIds: make([]uuid.UUID, 0, n),
		Versions:  make([]int32, 0, n),
		SaleIds:   make([]int64, 0, n),
		Types:     make([]string, 0, n),
		Data:      make([][]byte, 0, n),
		Metadata:  make([][]byte, 0, n),
		Follows:   make([]bool, 0, n),
	}
	for _, stream := range streams {
		for i, event := range stream.unrecorded() {
			data, err := json.Marshal(event.Data)
			if err != nil {
				return c, fmt.Errorf("encode %s: %w", event.Data.EventType(), err)
			}
			metadata := event.Metadata
			if metadata == nil {
				metadata = []byte("{}")
			}
			c.StreamIds = append(c.StreamIds, event.StreamID)
			c.Versions = append(c.Versions, int32(event.Version))
			c.SaleIds = append(c.SaleIds, event.SaleID)
			c.Types = append(c.Types, event.Data.EventType())
			c.Data = append(c.Data, data)
			c.Metadata = append(c.Metadata, metadata)
			c.Follows = append(c.Follows, i > 0)
		}
	}
	return c, nil
}

func (s *Stream) setRecorded(a Appended) {
	for i := s.recorded; i < len(s.Events); i++ {
		s.Events[i].TransactionID = a.TransactionID
		s.Events[i].RecordedAt = a.RecordedAt
	}
	s.recorded = len(s.Events)
}

func isUniqueViolation(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pgErr.Code == "23505"
}
