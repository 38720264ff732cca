package projections

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/postgres/postgrestest"
	"seckill/queries"
)

func openPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), postgrestest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func decide(t *testing.T, pool *pgxpool.Pool, store *eventstore.Store, id uuid.UUID, outcome domain.Event) {
	t.Helper()
	stream := eventstore.NewStream(id, 1001)
	stream.Record(domain.PurchaseRequested{UserID: "42", Quantity: 2}, nil)
	stream.Record(outcome, nil)
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		var writes queries.Pipeline
		if _, err := store.Append(t.Context(), tx, &writes, stream); err != nil {
			return err
		}
		return writes.Send(t.Context(), tx)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Stored and folded are the same (rule 8), for every kind of outcome; so a result
// whose row was dropped reads as before.
func TestPurchases_Get(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	store := eventstore.New(Results{Retention: ResultsRetention}, Orders{})
	reader := NewPurchases(store)
	payBy := time.Date(2026, 11, 11, 0, 15, 0, 123456000, time.UTC)
	for name, outcome := range map[string]domain.Event{
		"Confirmed": domain.PurchaseConfirmed{OrderID: domain.OrderID(7), Quantity: 2, Amount: 10, Currency: "CNY", PayBy: payBy},
		"SoldOut":   domain.PurchaseRejected{Reason: domain.ReasonSoldOut},
		"LimitExceeded": domain.PurchaseRejected{
			Reason: domain.ReasonLimitExceeded, ExistingRequestID: uuid.New(), ExistingOrderID: domain.OrderID(8),
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := uuid.Must(uuid.NewV7())
			decide(t, pool, store, id, outcome)
			stored, err := reader.Get(t.Context(), pool, id)
			if err != nil {
				t.Fatal(err)
			}
			if !stored.Decided() {
				t.Fatalf("got %+v, want an outcome", stored)
			}
			if _, err := pool.Exec(t.Context(), "delete from purchase_results where request_id = $1", id); err != nil {
				t.Fatal(err)
			}
			folded, err := reader.Get(t.Context(), pool, id)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(folded, stored, cmp.Comparer(time.Time.Equal)); diff != "" {
				t.Errorf("the row differs from the fold (-fold +row):\n%s", diff)
			}
		})
	}
	if _, err := reader.Get(t.Context(), pool, uuid.New()); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown request: got %v, want ErrNotFound", err)
	}
}

// An older version never overwrites a newer row, so that a rebuild can run beside
// live appends.
func TestResults_OlderNeverOverwritesNewer(t *testing.T) {
	t.Parallel()
	pool := openPool(t)
	store := eventstore.New(Results{Retention: ResultsRetention})
	id := uuid.Must(uuid.NewV7())
	decide(t, pool, store, id, domain.PurchaseRejected{Reason: domain.ReasonSoldOut})
	if _, err := pool.Exec(t.Context(), "update purchase_results set version = 3, status = 'later'"); err != nil {
		t.Fatal(err)
	}
	events, err := store.ReadStream(t.Context(), pool, id)
	if err != nil {
		t.Fatal(err)
	}
	err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		var writes queries.Pipeline
		if err := (Results{Retention: ResultsRetention}).Project(t.Context(), &writes, []*eventstore.Stream{eventstore.LoadedStream(events)}); err != nil {
			return err
		}
		return writes.Send(t.Context(), tx)
	})
	if err != nil {
		t.Fatal(err)
	}
	var status string
	if err := pool.QueryRow(t.Context(), "select status from purchase_results").Scan(&status); err != nil {
		t.Fatal(err)
	}
	if status != "later" {
		t.Errorf("the row was overwritten: status %s", status)
	}
}
