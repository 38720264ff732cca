package eventstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/postgres/postgrestest"
)

func TestStore_Append(t *testing.T) {
	t.Parallel()
	pool := openPool(t, postgrestest.New(t))
	store := eventstore.New()
	ctx := t.Context()

	t.Run("ReadsBackWhatWasAppended", func(t *testing.T) {
		stream := requested(1)
		first := appendAll(ctx, t, pool, store, stream)
		stream.Record(domain.PurchaseRejected{Reason: domain.ReasonSoldOut}, nil)
		second := appendAll(ctx, t, pool, store, stream)

		got, err := store.ReadStream(ctx, pool, stream.ID)
		if err != nil {
			t.Fatal(err)
		}
		want := []eventstore.Event{
			{
				StreamID: stream.ID, Version: 1, TransactionID: first.TransactionID, SaleID: 1,
				Data: domain.PurchaseRequested{UserID: "42", Quantity: 1}, Metadata: []byte(`{"actor": "42"}`), RecordedAt: first.RecordedAt,
			},
			{
				StreamID: stream.ID, Version: 2, TransactionID: second.TransactionID, SaleID: 1,
				Data: domain.PurchaseRejected{Reason: domain.ReasonSoldOut}, Metadata: []byte(`{}`), RecordedAt: second.RecordedAt,
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the stream differs (-want +got):\n%s", diff)
		}
		if second.TransactionID <= first.TransactionID {
			t.Errorf("transaction IDs do not grow: %d then %d", first.TransactionID, second.TransactionID)
		}
	})

	t.Run("SeveralEventsOfOneStream", func(t *testing.T) {
		stream := requested(1)
		stream.Record(domain.PurchaseRejected{Reason: domain.ReasonSoldOut}, nil)
		if appended := appendAll(ctx, t, pool, store, stream); appended.Count != 2 {
			t.Errorf("appended %d events, want 2", appended.Count)
		}
	})

	t.Run("VersionTaken", func(t *testing.T) {
		stream := requested(1)
		appendAll(ctx, t, pool, store, stream)
		again := eventstore.NewStream(stream.ID, 1)
		again.Record(domain.PurchaseRequested{UserID: "43", Quantity: 1}, nil)
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			_, err := appendIn(ctx, tx, store, again)
			return err
		})
		if !errors.Is(err, eventstore.ErrVersionConflict) {
			t.Errorf("got %v, want ErrVersionConflict", err)
		}
	})

	t.Run("PredecessorMissing", func(t *testing.T) {
		stranger := eventstore.LoadedStream([]eventstore.Event{{StreamID: uuid.New(), Version: 1, SaleID: 1}})
		stranger.Record(domain.PurchaseRejected{Reason: domain.ReasonSoldOut}, nil)
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			_, err := appendIn(ctx, tx, store, stranger)
			return err
		})
		if !errors.Is(err, eventstore.ErrVersionConflict) {
			t.Errorf("got %v, want ErrVersionConflict", err)
		}
	})

	t.Run("UnreadableDataDoesNotHideItsNeighbours", func(t *testing.T) {
		stream := requested(1)
		appended := appendAll(ctx, t, pool, store, stream)
		_, err := pool.Exec(ctx, `insert into events (stream_id, version, transaction_id, sale_id, type, data)
			values ($1, 2, $2, 1, 'PurchaseConfirmed', '{"quantity": "many"}'), ($1, 3, $2, 1, 'FromTheFuture', '{}')`,
			stream.ID, appended.TransactionID)
		if err != nil {
			t.Fatal(err)
		}
		got, err := store.ReadTransactions(ctx, pool, []int64{appended.TransactionID})
		if err != nil || len(got) != 3 {
			t.Fatalf("read %d events and %v, want 3", len(got), err)
		}
		for _, event := range got[1:] {
			if _, ok := event.Data.(domain.Unreadable); !ok {
				t.Errorf("%s was read as %T", event.Data.EventType(), event.Data)
			}
		}
	})
}

func TestStore_Start(t *testing.T) {
	t.Parallel()
	pool := openPool(t, postgrestest.New(t))
	store := eventstore.New()
	ctx := t.Context()
	streams := []*eventstore.Stream{requested(1), requested(1)}
	for attempt, want := range []int{2, 0} {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			again := make([]*eventstore.Stream, len(streams))
			for i, stream := range streams {
				again[i] = eventstore.NewStream(stream.ID, 1)
				again[i].Record(domain.PurchaseRequested{UserID: "42", Quantity: 1}, nil)
			}
			appended, err := store.Start(ctx, tx, again...)
			if appended.Count != want {
				t.Errorf("attempt %d started %d streams, want %d", attempt, appended.Count, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestEventsAreNeverChanged(t *testing.T) {
	t.Parallel()
	pool := openPool(t, postgrestest.New(t))
	appendAll(t.Context(), t, pool, eventstore.New(), requested(1))
	for _, statement := range []string{
		"update events set data = '{}'", "delete from events", "truncate events",
	} {
		_, err := pool.Exec(t.Context(), statement)
		if err == nil || !strings.Contains(err.Error(), "events are never changed") {
			t.Errorf("%s: got %v", statement, err)
		}
	}
}

// The later position commits first: a reader that went by positions would pass
// over the event that commits late (FAULTS 21).
func TestStore_ReadLog(t *testing.T) {
	t.Parallel()
	pool := openPool(t, postgrestest.New(t))
	store := eventstore.New()
	ctx := t.Context()

	late, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	lateStream := requested(1)
	if _, err := appendIn(ctx, late, store, lateStream); err != nil {
		t.Fatal(err)
	}
	earlyStream := requested(1)
	appendAll(ctx, t, pool, store, earlyStream)

	var cursor eventstore.Cursor
	events, err := store.ReadLog(ctx, pool, cursor, 100)
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 0 {
		t.Fatalf("read %d events past one in progress", len(events))
	}
	if err := late.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	var order []uuid.UUID
	deadline := time.Now().Add(5 * time.Second) // other databases of the server share the horizon
	for len(order) < 2 && time.Now().Before(deadline) {
		events, err := store.ReadLog(ctx, pool, cursor, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range events {
			order, cursor = append(order, event.StreamID), event.Cursor
		}
	}
	if diff := cmp.Diff([]uuid.UUID{lateStream.ID, earlyStream.ID}, order); diff != "" {
		t.Errorf("the log differs (-want +got):\n%s", diff)
	}
}
