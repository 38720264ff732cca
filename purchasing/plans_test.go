package purchasing_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"seckill/postgres/postgrestest"
	"seckill/queries"
)

// The statistics of the database know nothing of a sale that has just opened, and
// that is the one that is rushed. What the hot path reads of it must not grow with
// what has happened in it, nor with the history.
func TestPlans_SaleUnknownToTheStatistics(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 500)
	past := n.sale(t, 1_000_000, 1)
	fill := func(sale int64, decided, undecided int) {
		n.exec(t, `insert into events (stream_id, version, transaction_id, sale_id, type, data)
			select md5($1::bigint || '-' || i)::uuid, v, current_transaction_id() - 1 - i / 100, $1::bigint,
				case v when 1 then 'PurchaseRequested' else 'PurchaseConfirmed' end,
				jsonb_build_object('userId', 'user-' || i, 'quantity', 1)
			from generate_series(1, $2::int + $3::int) i, generate_series(1, 2) v
			where v = 1 or i <= $2::int`, sale, decided, undecided)
		n.exec(t, `insert into allowances select $1, 'user-' || i, 1, gen_random_uuid(), 'order' from generate_series(1, $2::int) i`, sale, decided)
	}
	fill(past, 20_000, 0)
	n.exec(t, "analyze")
	const known, asked = 5_000, 500
	rushed := n.sale(t, 1_000_000, 1)
	fill(rushed, known, asked)

	transactions := value[[]int64](t, n, `select array_agg(distinct transaction_id) from events r where sale_id = $1
		and not exists (select from events d where d.stream_id = r.stream_id and d.version = 2)`, rushed)
	requests := value[[]uuid.UUID](t, n, `select array_agg(stream_id) from events r where sale_id = $1
		and not exists (select from events d where d.stream_id = r.stream_id and d.version = 2)`, rushed)
	users := make([]string, 0, asked)
	for i := range asked {
		users = append(users, "user-"+string(rune('0'+i%10)))
	}
	for name, read := range map[string]func(*queries.Queries) (int, error){
		"GetUndecided": func(q *queries.Queries) (int, error) {
			rows, err := q.GetUndecided(t.Context(), queries.GetUndecidedParams{TransactionIds: transactions, SaleID: rushed, AnyFree: true})
			return len(rows), err
		},
		"GetAllowances": func(q *queries.Queries) (int, error) {
			_, err := q.GetAllowances(t.Context(), queries.GetAllowancesParams{SaleID: rushed, UserIds: users})
			return asked, err
		},
		"AppendEvents": func(q *queries.Queries) (int, error) {
			row, err := q.AppendEvents(t.Context(), queries.AppendEventsParams{
				StreamIds: requests,
				Versions:  slices.Repeat([]int32{2}, asked),
				SaleIds:   slices.Repeat([]int64{rushed}, asked),
				Types:     slices.Repeat([]string{"PurchaseConfirmed"}, asked),
				Data:      slices.Repeat([][]byte{[]byte("{}")}, asked),
				Metadata:  slices.Repeat([][]byte{[]byte("{}")}, asked),
				Follows:   make([]bool, asked),
			})
			return int(row.Appended), err
		},
	} {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				tx, err := n.pools.Decide.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = tx.Rollback(t.Context()) }()
				if _, err := tx.Exec(t.Context(), "set local plan_cache_mode = "+mode); err != nil {
					t.Fatal(err)
				}
				before := rowsRead(t, tx)
				found, err := read(queries.New(tx))
				if err != nil {
					t.Fatal(err)
				}
				if found != asked {
					t.Errorf("it found %d, want %d", found, asked)
				}
				// A request, whether it is decided, and what its buyer holds: three a piece,
				// and some decided ones of the same transactions.
				if got := rowsRead(t, tx) - before; got > 6*asked {
					t.Errorf("it read %d rows for %d requests", got, asked)
				}
			})
		}
	}
}

// rowsRead is how many rows of events and allowances the transaction has read.
func rowsRead(t *testing.T, tx pgx.Tx) (rows int) {
	t.Helper()
	err := tx.QueryRow(t.Context(), `select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint
		from pg_stat_xact_user_tables where relname in ('events', 'allowances')`).Scan(&rows)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
