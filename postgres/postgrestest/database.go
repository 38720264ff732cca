package postgrestest

import (
	"context"
	"testing"
	"time"
)

// New returns the URL of a fresh database with the project's schema, which is
// dropped, with connections cut, when the test ends. The schema is migrated once
// and copied for each test. Parallel tests may call it. It fails the test if
// there is no database to be had.
//
// Databases of one server share its transaction IDs: a transaction that is open
// in another test's database holds the snapshot horizon back in this one too.
func New(tb testing.TB) string {
	tb.Helper()
	if shared == nil {
		tb.Fatal("postgrestest.New: TestMain does not call postgrestest.Main")
	}
	name, err := shared.create(tb.Context())
	if err != nil {
		tb.Fatalf("postgrestest.New: create a database: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := shared.drop(ctx, name); err != nil {
			tb.Errorf("postgrestest.New: drop the database: %v", err)
		}
	})
	return shared.urlOf(name)
}
