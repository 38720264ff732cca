package projections_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/domain"
	"seckill/postgres"
	"seckill/postgres/postgrestest"
	"seckill/projections"
	"seckill/queries"
)

// Among thousands of past sales the few that are on are found by their end, and
// those of some goods by the goods: few rows are read, also by the plan that the
// server keeps after some calls.
func TestListSales_ReadsFewRows(t *testing.T) {
	t.Parallel()
	pools, err := postgres.OpenPools(t.Context(), postgrestest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pools.Close)
	// The oldest sale is on, so that going back from the newest would read them all.
	if _, err := pools.Read.Exec(t.Context(), `
		insert into sales (sale_id, goods_id, name, price, currency, stock, available, per_user_limit, opens_at, closes_at, payment_timeout_us)
		select n, n % 5000, '', 1, 'CNY', 1, 1, 1, now() - interval '2 days', now() + case n when 1 then interval '1 day' else interval '-1 day' end, 1
		from generate_series(1, 20000) n`); err != nil {
		t.Fatal(err)
	}
	if _, err := pools.Read.Exec(t.Context(), "analyze sales"); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		filter projections.SaleFilter
		want   int
	}{
		"Open":       {projections.SaleFilter{Statuses: []domain.SaleStatus{domain.SaleStatusOpen}}, 1},
		"Paused":     {projections.SaleFilter{Statuses: []domain.SaleStatus{domain.SaleStatusPaused, domain.SaleStatusSoldOut}}, 0},
		"Goods":      {projections.SaleFilter{GoodsID: 1}, 4},
		"OpenGoods":  {projections.SaleFilter{GoodsID: 1, Statuses: []domain.SaleStatus{domain.SaleStatusOpen}}, 1},
		"All":        {projections.SaleFilter{}, 20},
		"Closed":     {projections.SaleFilter{Statuses: []domain.SaleStatus{domain.SaleStatusClosed}}, 20},
		"OtherGoods": {projections.SaleFilter{GoodsID: 5001}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			const calls = 10
			err := pgx.BeginFunc(t.Context(), pools.Read, func(tx pgx.Tx) error {
				before := rowsRead(t, tx)
				for range calls {
					sales, _, err := projections.ListSales(t.Context(), tx, test.filter, 0, 20)
					if err != nil {
						return err
					}
					if len(sales) != test.want {
						t.Errorf("it lists %d sales, want %d", len(sales), test.want)
					}
				}
				read := rowsRead(t, tx) - before
				if read > calls*30 {
					t.Errorf("%d calls read %d rows", calls, read)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// rowsRead is how many rows of sales the connection has read lately.
func rowsRead(t *testing.T, tx pgx.Tx) int {
	t.Helper()
	var read int
	if err := tx.QueryRow(t.Context(), "select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relname = 'sales'").Scan(&read); err != nil {
		t.Fatal(err)
	}
	return read
}

// The status by which lists filter is the one that the sale shows.
func TestListSales_StatusIsTheDomains(t *testing.T) {
	t.Parallel()
	pools, err := postgres.OpenPools(t.Context(), postgrestest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pools.Close)
	if _, err := pools.Read.Exec(t.Context(), `
		insert into sales (sale_id, goods_id, name, price, currency, stock, available, per_user_limit, opens_at, closes_at, payment_timeout_us,
			closed_at, paused_at, resumed_at)
		select row_number() over (), 1, '', 1, 'CNY', 1, available, 1, now() + opens, now() + opens + '1 hour', 1, closed_at, paused_at, resumed_at
		from unnest(array[0, 1]) available,
			unnest(array[interval '-2 hours', interval '-30 minutes', interval '1 minute']) opens,
			(values (null), (now() - interval '1 second')) c (closed_at),
			(values ('{}'::timestamptz[], '{}'::timestamptz[]), (array[now()], '{}'), (array[now()], array[now()]), (array[now(), now()], array[now()])) p (paused_at, resumed_at)`); err != nil {
		t.Fatal(err)
	}
	rows, err := pools.Read.Query(t.Context(), "select *, now(), sale_status(sales, now()) from sales")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]int)
	var row queries.Sale
	var now time.Time
	var status string
	if _, err := pgx.ForEachRow(rows, []any{
		&row.SaleID, &row.GoodsID, &row.Name, &row.Price, &row.Currency, &row.Stock, &row.Available, &row.PerUserLimit, &row.OpensAt, &row.ClosesAt,
		&row.PaymentTimeoutUs, &row.Revision, &row.ClosedAt, &row.PausedAt, &row.ResumedAt, &now, &status,
	}, func() error {
		found[status]++
		if want := string(row.Domain().Status(now)); status != want {
			t.Errorf("%+v is %s to SQL and %s to the domain", row, status, want)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(found) != 5 {
		t.Errorf("the statuses are %v, want all five", found)
	}
}
