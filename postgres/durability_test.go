package postgres_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/postgres"
	"seckill/postgres/postgrestest"
)

func TestUndurable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ settings, want []string }{
		"Default": {nil, []string{}},
		"Off":     {[]string{"fsync=off", "synchronous_commit=off"}, []string{"fsync", "synchronous_commit"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, err := pgxpool.New(t.Context(), postgrestest.Server(t, test.settings...).URL())
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			got, err := postgres.Undurable(t.Context(), pool)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
