// Package docs_test checks that what the documentation tells readers to type works.
package docs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"seckill/domain"
	"seckill/migrations"
	"seckill/postgres/postgrestest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// Every query of reporting.md does what it says, as the role, on a history whose
// figures are known.
func TestReporting_Queries(t *testing.T) {
	t.Parallel()
	conn := connect(t, postgrestest.New(t))
	load(t, conn)
	asReporter(t, conn)

	want := map[string]string{
		"How did the sale go?": "10|4|5|1|2|40.00|3|5|60.00",
		"Second by second": `
			2026-03-01 11:59:59+00|1|0|1|0|0|0
			2026-03-01 12:00:00+00|3|2|1|0|3|3
			2026-03-01 12:00:01+00|3|1|2|0|2|5
			2026-03-01 12:00:02+00|0|0|0|65|0|5
			2026-03-01 12:00:06+00|2|1|1|0|1|6
			2026-03-01 12:00:07+00|1|0|0|0|0|6
			2026-03-01 13:00:00+00|0|0|0|3|0|6`,
		"The busiest seconds": `
			2026-03-01 12:00:00+00|3|3
			2026-03-01 12:00:01+00|3|3
			2026-03-01 12:00:06+00|2|2
			2026-03-01 11:59:59+00|1|1
			2026-03-01 12:00:07+00|1|0
			2026-03-01 12:00:02+00|0|0
			2026-03-01 13:00:00+00|0|0`,
		"Who was turned away at the door?": `
			sold_out|65|2026-03-01 12:00:02+00|2026-03-01 12:00:02.1+00
			sale_closed|3|2026-03-01 13:00:00+00|2026-03-01 13:00:00+00`,
		"How long did buyers wait?": "9|50|90|90|90|90",
		"Did it get slower in the rush?": `
			2026-03-01 11:59:59+00|1|00:00:00.09|00:00:00.09
			2026-03-01 12:00:00+00|3|00:00:00.02|00:00:00.03
			2026-03-01 12:00:01+00|3|00:00:00.05|00:00:00.06
			2026-03-01 12:00:06+00|2|00:00:00.07|00:00:00.08`,
		"Why were requests rejected?": `
			limit_exceeded|2|40.0
			sold_out|2|40.0
			sale_not_open|1|20.0`,
		"How soon was it sold out?": "2026-03-01 12:00:01.14+00|00:00:01.14",
		"Revenue": `
			7|Phone|CNY|1|2|399800
			8|Ticket|JPY|1|1|5000`,
		"What became of the orders?": `
			cancelled|1|1|199900|CNY
			paid|1|2|399800|CNY
			pending_payment|1|1|199900|CNY
			refunded|1|2|399800|CNY`,
		"Why did I not get one?": fmt.Sprintf(`
			%[1]s|2026-03-01 12:00:00.1+00|2|succeeded||%[4]s|00:00:00.01
			%[2]s|2026-03-01 12:00:00.9+00|1|failed|limit_exceeded|%[4]s|00:00:00.03
			%[3]s|2026-03-01 12:00:06.5+00|1|failed|limit_exceeded|%[4]s|00:00:00.08`,
			request(1), request(3), request(8), domain.OrderID(1)),
		"Who tried again and was turned down by the limit?": "42|2|" + domain.OrderID(1),
		"Who pressed most often?": `
			42|3|00:00:06.4
			9|2|00:00:04.7
			10|1|00:00:00
			11|1|00:00:00
			12|1|00:00:00`,
		"The story of one request": fmt.Sprintf(`
			1|PurchaseRequested|2026-03-01 12:00:00.1+00|{"userId": "42", "quantity": 2}
			2|PurchaseConfirmed|2026-03-01 12:00:00.11+00|{"payBy": "2026-03-01T12:15:00.11Z", "amount": 399800, "orderId": "%s", "currency": "CNY", "quantity": 2}
			3|OrderPaid|2026-03-01 12:01:00+00|{"amount": 399800, "paymentReference": "p1"}`, domain.OrderID(1)),
		"What did the operator change?": `2026-03-01 11:00:00+00|SaleScheduled|{"name": "Phone", "price": 199900, "stock": 5, "goodsId": 7, "opensAt": "2026-03-01T12:00:00Z", "closesAt": "2026-03-01T13:00:00Z", "currency": "CNY", "perUserLimit": 2, "paymentTimeout": "15m"}`,
		"Do the books balance?":         "t|4",
	}
	queries := blocks(t, "sql")
	if len(queries) < 8 {
		t.Errorf("%d queries, want at least 8", len(queries))
	}
	for _, block := range queries {
		t.Run(block.heading, func(t *testing.T) {
			got := query(t, conn, block.text)
			if got == "" {
				t.Error("no rows")
			}
			if block.heading == "Is anybody kept waiting?" { // for how long depends on the clock
				if want := request(9).String() + "|11|"; !strings.HasPrefix(got, want) || strings.Count(got, "\n") > 0 {
					t.Errorf("got %s, want one row %s…", got, want)
				}
				return
			}
			if diff := cmp.Diff(rows(want[block.heading]), rows(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReporting_Views(t *testing.T) {
	t.Parallel()
	conn := connect(t, postgrestest.New(t))
	load(t, conn)
	asReporter(t, conn)

	for _, test := range []struct{ name, query, want string }{
		{
			// The books of a sale on which everything happened.
			"Funnel", `select sale_id, goods_id, goods_name, stock, available, requested, confirmed, rejected, undecided, paid, cancelled, expired, refunded,
				conversion, units_requested, units_confirmed, units_released, units_sold, sell_through, first_request_at, last_request_at, last_decision_at
				from reporting.funnel where sale_id = 1001`,
			"1001|7|Phone|5|2|10|4|5|1|2|1|0|1|0.4|12|6|3|3|0.6|2026-03-01 11:59:59.5+00|2026-03-01 12:00:07+00|2026-03-01 12:00:06.58+00",
		}, {
			// One expired order, and a request that cannot be read.
			"FunnelOfAnotherSale", `select stock, available, requested, confirmed, rejected, paid, expired, units_requested, units_released, units_sold
				from reporting.funnel where sale_id = 1002`,
			"100|99|3|2|1|1|1|4|3|1",
		}, {
			"FunnelWithoutRequests", "select requested, undecided, conversion, units_sold, sell_through, first_request_at from reporting.funnel where sale_id = 1004",
			"0|0||0|0|",
		}, {
			// 1, 2, … 1,000 ms.
			"DecisionLatency", "select decided, p50_ms, p90_ms, p99_ms, p99_9_ms, max_ms from reporting.decision_latency where sale_id = 1003",
			"1000|500|900|990|999|1000",
		}, {
			"RejectionsAddUp", "select sale_id, sum(count), sum(share) from reporting.rejections group by sale_id order by sale_id", `
			1001|5|1
			1002|1|1
			1003|1000|1`,
		}, {
			"TimelineAddsUp", "select sum(requests), sum(confirmed), sum(rejected), sum(units), sum(turned_away) from reporting.timeline where sale_id = 1001",
			"10|4|5|6|68",
		}, {
			"TurnedAway", "select sale_id, turned_away from reporting.funnel order by sale_id", `
			1001|68
			1002|0
			1003|0
			1004|0`,
		}, {
			"Orders", "select order_id, request_id, user_id, quantity, amount, status, pay_by, created_at, paid_at, ended_at from reporting.orders where sale_id = 1001 order by order_id collate \"C\"",
			strings.Join(sorted(
				fmt.Sprintf("%s|%s|42|2|399800|paid|2026-03-01 12:15:00.11+00|2026-03-01 12:00:00.11+00|2026-03-01 12:01:00+00|", domain.OrderID(1), request(1)),
				fmt.Sprintf("%s|%s|7|1|199900|cancelled|2026-03-01 12:15:00.22+00|2026-03-01 12:00:00.22+00||2026-03-01 12:00:05+00", domain.OrderID(2), request(2)),
				fmt.Sprintf("%s|%s|8|2|399800|refunded|2026-03-01 12:15:01.14+00|2026-03-01 12:00:01.14+00|2026-03-01 12:02:00+00|2026-03-01 12:05:00+00", domain.OrderID(4), request(4)),
				fmt.Sprintf("%s|%s|9|1|199900|pending_payment|2026-03-01 12:15:06.07+00|2026-03-01 12:00:06.07+00||", domain.OrderID(7), request(7)),
			), "\n"),
		}, {
			"UnreadableRequest", "select user_id, quantity from reporting.events where sale_id = 1002 and type = 'PurchaseRequested' and quantity is null",
			"43|",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(rows(test.want), rows(query(t, conn, test.query))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}

	// Whatever the planner prefers for a few rows: no view stands in the way of the
	// indexes that begin with the sale.
	t.Run("FilterBySaleUsesItsIndex", func(t *testing.T) {
		query(t, conn, "set enable_seqscan = off")
		for _, view := range []string{"events", "funnel", "timeline", "decision_latency", "rejections", "turned_away", "orders"} {
			plan := query(t, conn, "explain select * from reporting."+view+" where sale_id = 1001")
			indexed := strings.Contains(plan, "events_sale_id_transaction_id") || strings.Contains(plan, "events_requests_of_a_user")
			if !indexed || strings.Contains(plan, "Seq Scan on events") {
				t.Errorf("%s:\n%s", view, plan)
			}
		}
	})
}

// An owner who may not create roles migrates nevertheless, and then does what
// reporting.md says.
func TestReporting_Administrator(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := postgrestest.Server(t, "fsync=off")
	administrator := connect(t, server.URL())
	query(t, administrator, "create role plain login")
	query(t, administrator, "create database plain owner plain")
	if err := migrations.Up(ctx, as(t, server.URL(), "plain", "plain")); err != nil {
		t.Fatal(err)
	}
	if got := query(t, administrator, "select to_regrole('seckill_reporting') is null"); got != "t" {
		t.Fatal("the role exists: the test shows nothing")
	}

	statements := blocks(t, "postgresql")
	if len(statements) != 2 {
		t.Fatalf("%d blocks of statements, want the administrator's and the owner's", len(statements))
	}
	query(t, administrator, statements[0].text)
	owner := connect(t, as(t, server.URL(), "plain", "plain"))
	load(t, owner)
	query(t, owner, statements[1].text)
	reporter := connect(t, as(t, server.URL(), "seckill_reporting", "plain"))
	if got := query(t, reporter, "select count(*) from reporting.funnel"); got != "4" {
		t.Errorf("the role sees %s sales, want 4", got)
	}
	for setting, want := range map[string]string{
		"default_transaction_read_only":       "on",
		"idle_in_transaction_session_timeout": "10s",
		"statement_timeout":                   "30s",
	} {
		if got := query(t, reporter, "show "+setting); got != want {
			t.Errorf("%s is %s, want %s", setting, got, want)
		}
	}

	// Where the role exists, the next database of such an owner needs no help.
	query(t, administrator, "create database another owner plain")
	if err := migrations.Up(ctx, as(t, server.URL(), "plain", "another")); err != nil {
		t.Fatal(err)
	}
	query(t, connect(t, as(t, server.URL(), "seckill_reporting", "another")), "select from reporting.funnel")
}

type block struct{ heading, text string }

// blocks returns the fenced blocks of a language in reporting.md, each with the
// heading above it.
func blocks(t *testing.T, language string) []block {
	t.Helper()
	text, err := os.ReadFile("reporting.md")
	if err != nil {
		t.Fatal(err)
	}
	var found []block
	heading := ""
	for _, match := range regexp.MustCompile("(?ms)^#+ (.*?)$|^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		switch {
		case match[1] != "":
			heading = match[1]
		case match[2] == language:
			found = append(found, block{heading, match[3]})
		}
	}
	return found
}

var opening = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// request is the ID of the n-th request of the history.
func request(n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("019ca90f-48a4-7000-8000-%012x", n))
}

// raw is an event that is not of the domain, or not any more.
type raw struct{ name, data string }

func (r raw) EventType() string            { return r.name }
func (r raw) MarshalJSON() ([]byte, error) { return []byte(r.data), nil }

// load writes a history of four sales: 1001 on which everything happens, 1002 in
// another currency, 1003 with decisions after 1, 2, … 1,000 ms, 1004 without
// requests.
func load(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	const second, ms = time.Second, time.Millisecond
	requested := func(user string, quantity int) domain.Event {
		return domain.PurchaseRequested{UserID: user, Quantity: quantity}
	}
	confirmed := func(n, quantity int, at time.Duration) domain.Event {
		return domain.PurchaseConfirmed{
			OrderID: domain.OrderID(int64(n)), Quantity: quantity, Amount: int64(quantity) * 199900, Currency: "CNY",
			PayBy: opening.Add(at + 15*time.Minute),
		}
	}
	rejected := func(reason domain.Reason) domain.Event { return domain.PurchaseRejected{Reason: reason} }
	overLimit := domain.PurchaseRejected{
		Reason: domain.ReasonLimitExceeded, ExistingRequestID: request(1), ExistingOrderID: domain.OrderID(1),
	}
	yen := func(n, quantity int) domain.Event {
		return domain.PurchaseConfirmed{
			OrderID: domain.OrderID(int64(n)), Quantity: quantity, Amount: int64(quantity) * 5000, Currency: "JPY", PayBy: opening.Add(time.Hour),
		}
	}
	plan := domain.SaleScheduled{
		GoodsID: 7, Name: "Phone", Price: 199900, Currency: "CNY", Stock: 5, PerUserLimit: 2,
		OpensAt: opening, ClosesAt: opening.Add(time.Hour), PaymentTimeout: domain.Duration(15 * time.Minute),
	}

	var batch pgx.Batch
	batch.Queue(`
		insert into sales (sale_id, goods_id, name, price, currency, stock, available, per_user_limit, opens_at, closes_at, payment_timeout_us)
		select *, $1::timestamptz, $1::timestamptz + interval '1 hour', 900000000 from (values
			(1001, 7, 'Phone', 199900, 'CNY', 5, 2, 2),
			(1002, 8, 'Ticket', 5000, 'JPY', 100, 99, 5),
			(1003, 7, 'Phone', 199900, 'CNY', 10, 10, 1),
			(1004, 7, 'Phone', 199900, 'CNY', 10, 10, 1)) v`, opening)
	versions := map[uuid.UUID]int{}
	for i, e := range []struct {
		sale   int
		stream uuid.UUID
		at     time.Duration // after the opening
		event  domain.Event
	}{
		{1001, uuid.NewSHA1(uuid.Nil, []byte("1001")), -time.Hour, plan},
		{1001, request(10), -500 * ms, requested("12", 1)},
		{1001, request(10), -410 * ms, rejected(domain.ReasonSaleNotOpen)},
		{1001, request(1), 100 * ms, requested("42", 2)},
		{1001, request(1), 110 * ms, confirmed(1, 2, 110*ms)},
		{1001, request(2), 200 * ms, requested("7", 1)},
		{1001, request(2), 220 * ms, confirmed(2, 1, 220*ms)},
		{1001, request(3), 900 * ms, requested("42", 1)},
		{1001, request(3), 930 * ms, overLimit},
		{1001, request(4), 1100 * ms, requested("8", 2)},
		{1001, request(4), 1140 * ms, confirmed(4, 2, 1140*ms)}, // sold out
		{1001, request(5), 1300 * ms, requested("9", 1)},
		{1001, request(5), 1350 * ms, rejected(domain.ReasonSoldOut)},
		{1001, request(6), 1400 * ms, requested("10", 1)},
		{1001, request(6), 1460 * ms, rejected(domain.ReasonSoldOut)},
		{1001, request(2), 5 * second, raw{"OrderCancelled", `{"quantity": 1}`}},
		{1001, request(7), 6000 * ms, requested("9", 1)},
		{1001, request(7), 6070 * ms, confirmed(7, 1, 6070*ms)},
		{1001, request(8), 6500 * ms, requested("42", 1)},
		{1001, request(8), 6580 * ms, overLimit},
		{1001, request(9), 7 * second, requested("11", 1)}, // nobody decides it
		{1001, request(1), 60 * second, raw{"OrderPaid", `{"paymentReference": "p1", "amount": 399800}`}},
		{1001, request(4), 120 * second, raw{"OrderPaid", `{"paymentReference": "p4", "amount": 399800}`}},
		{1001, request(4), 300 * second, raw{"OrderRefunded", `{"quantity": 2, "restock": true, "paymentReference": "p4"}`}},

		{1001, uuid.NewSHA1(uuid.Nil, []byte("door 1")), 2 * second, domain.PurchasesTurnedAway{Reason: domain.ReasonSoldOut, Count: 40}},
		{1001, uuid.NewSHA1(uuid.Nil, []byte("door 2")), 2100 * ms, domain.PurchasesTurnedAway{Reason: domain.ReasonSoldOut, Count: 25}},
		{1001, uuid.NewSHA1(uuid.Nil, []byte("door 3")), time.Hour, domain.PurchasesTurnedAway{Reason: domain.ReasonSaleClosed, Count: 3}},

		{1002, request(21), 300 * ms, requested("42", 1)},
		{1002, request(21), 310 * ms, yen(21, 1)},
		{1002, request(22), 300 * ms, requested("42", 3)},
		{1002, request(22), 310 * ms, yen(22, 3)},
		{1002, request(23), 300 * ms, raw{"PurchaseRequested", `{"userId": 43, "quantity": "many"}`}},
		{1002, request(23), 310 * ms, rejected(domain.ReasonInternal)},
		{1002, request(21), 5 * second, raw{"OrderPaid", `{"paymentReference": "p21", "amount": 5000}`}},
		{1002, request(22), time.Hour, raw{"OrderExpired", `{"quantity": 3}`}},
	} {
		data, err := json.Marshal(e.event)
		if err != nil {
			t.Fatal(err)
		}
		versions[e.stream]++
		batch.Queue(`
			insert into events (stream_id, version, transaction_id, sale_id, type, data, recorded_at)
			values ($1, $2, $3, $4, $5, $6, $7)`,
			e.stream, versions[e.stream], i+1, e.sale, e.event.EventType(), string(data), opening.Add(e.at))
	}
	batch.Queue(`
		insert into events (stream_id, version, transaction_id, sale_id, type, data, recorded_at)
		select gen_random_uuid(), 1, 100, 1003, 'PurchaseRequested', jsonb_build_object('userId', n::text, 'quantity', 1), $1::timestamptz
		from generate_series(1, 1000) n`, opening)
	batch.Queue(`
		insert into events (stream_id, version, transaction_id, sale_id, type, data, recorded_at)
		select stream_id, 2, 101, 1003, 'PurchaseRejected', '{"reason": "sold_out"}',
			recorded_at + interval '1 ms' * (data->>'userId')::integer
		from events where sale_id = 1003`)
	if err := conn.SendBatch(t.Context(), &batch).Close(); err != nil {
		t.Fatal(err)
	}
}

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// as returns the address of a database for a role of the same server.
func as(t *testing.T, address, role, database string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	parsed.User, parsed.Path = url.User(role), "/"+database
	return parsed.String()
}

// asReporter makes the role of a connection the reporting one. It is not a login:
// a server that is not ours may want a password.
func asReporter(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	query(t, conn, "set timezone = 'UTC'; set default_transaction_read_only = on; set role seckill_reporting")
}

// query runs statements and returns the rows of the last one like psql -A -t.
func query(t *testing.T, conn *pgx.Conn, statements string) string {
	t.Helper()
	results, err := conn.PgConn().Exec(t.Context(), statements).ReadAll()
	if err != nil {
		t.Fatalf("%v:\n%s", err, statements)
	}
	var lines []string
	for _, row := range results[len(results)-1].Rows {
		lines = append(lines, string(bytes.Join(row, []byte("|"))))
	}
	return strings.Join(lines, "\n")
}

// rows are the lines of a text, whatever their indentation.
func rows(text string) []string {
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func sorted(lines ...string) []string {
	slices.Sort(lines)
	return lines
}
