package eventstore_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/postgres/postgrestest"
	"seckill/queries"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

func openPool(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// requested is a new purchase stream with its first event unrecorded.
func requested(saleID int64) *eventstore.Stream {
	stream := eventstore.NewStream(uuid.Must(uuid.NewV7()), saleID)
	stream.Record(domain.PurchaseRequested{UserID: "42", Quantity: 1}, []byte(`{"actor":"42"}`))
	return stream
}

// appendAll appends and commits, and returns where.
func appendAll(ctx context.Context, t *testing.T, pool *pgxpool.Pool, store *eventstore.Store, streams ...*eventstore.Stream) eventstore.Appended {
	t.Helper()
	var appended eventstore.Appended
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		var err error
		appended, err = appendIn(ctx, tx, store, streams...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return appended
}

func appendIn(ctx context.Context, tx pgx.Tx, store *eventstore.Store, streams ...*eventstore.Stream) (eventstore.Appended, error) {
	var writes queries.Pipeline
	appended, err := store.Append(ctx, tx, &writes, streams...)
	if err != nil {
		return appended, err
	}
	return appended, writes.Send(ctx, tx)
}
