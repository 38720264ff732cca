package http_test

import (
	"fmt"
	stdhttp "net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/domain"
)

// command sends a command without a body on a sale.
func (c *client) command(t *testing.T, saleID int64, name string) answer {
	t.Helper()
	return c.do(t, stdhttp.MethodPost, fmt.Sprintf("/sales/%d/%s", saleID, name), "")
}

func (c *client) stock(t *testing.T, saleID int64, delta string) answer {
	t.Helper()
	return c.post(t, fmt.Sprintf("/sales/%d/stock", saleID), `{"delta":`+delta+`}`)
}

func (c *client) reschedule(t *testing.T, saleID int64, body string) answer {
	t.Helper()
	return c.patch(t, fmt.Sprint("/sales/", saleID), body)
}

func rfc3339(t time.Time) string { return t.Format(time.RFC3339Nano) }

// The life of a sale under an operator's hand: each answer shows the sale after the
// command, and a command that finds it so already changes nothing.
func TestServer_SaleCommands(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	id := n.sale(t, 10, 1)
	for i, step := range []struct {
		command  string
		status   string
		revision int64
	}{
		{"resume", "open", 1},
		{"pause", "paused", 2},
		{"pause", "paused", 2},
		{"resume", "open", 3},
		{"resume", "open", 3},
		{"pause", "paused", 4},
		{"close", "closed", 5},
		{"close", "closed", 5},
	} {
		a := n.command(t, id, step.command)
		if got := a.sale(t, stdhttp.StatusOK); got.SaleID != id || got.Status != step.status || got.Revision != step.revision {
			t.Errorf("step %d, %s: got %+v, want it %s with the revision %d", i, step.command, got, step.status, step.revision)
		}
		if got := a.header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("Cache-Control is %q", got)
		}
	}
}

// A command without parameters needs no body; what is sent must be an empty object.
func TestServer_SaleCommands_Body(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	for _, command := range []string{"pause", "resume", "close"} {
		path := fmt.Sprintf("/sales/%d/%s", n.sale(t, 10, 1), command)
		n.post(t, path, `{"force":true}`).problem(t, 422, "invalid_request").at(t, "body.force")
		n.post(t, path, `[]`).problem(t, 422, "invalid_request").at(t, "body")
		n.post(t, path, `{`).problem(t, 400, "invalid_json")
		n.post(t, path, `{}`, "Content-Type: text/plain").problem(t, 415, "unsupported_media_type")
		n.post(t, path, `{"a":"`+strings.Repeat("a", 16<<10)+`"}`).problem(t, 413, "body_too_large")
		n.post(t, path, ``).is(t, stdhttp.StatusOK)
		n.do(t, stdhttp.MethodPost, path, "").is(t, stdhttp.StatusOK)
		n.do(t, stdhttp.MethodPost, path, "", "Content-Type: application/x-www-form-urlencoded").is(t, stdhttp.StatusOK) // curl -d ''
		n.post(t, path, `{}`).is(t, stdhttp.StatusOK)
	}
}

func TestServer_SaleCommands_UnknownSale(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	for _, id := range []string{"999", "0", "-1", "abc", "1e3", "9223372036854775807", "9223372036854775808", "%00"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			for _, command := range []string{"pause", "resume", "close"} {
				n.post(t, "/sales/"+id+"/"+command, "").problem(t, 404, "sale_not_found")
			}
			n.post(t, "/sales/"+id+"/stock", `{"delta":1}`).problem(t, 404, "sale_not_found")
			n.patch(t, "/sales/"+id, `{"closesAt":"2099-01-01T00:00:00Z"}`).problem(t, 404, "sale_not_found")
		})
	}
}

// A sale that is closed by hand or over takes no command but to be closed.
func TestServer_SaleCommands_Closed(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	closed := n.sale(t, 10, 1)
	n.command(t, closed, "close").is(t, stdhttp.StatusOK)
	for _, id := range []int64{closed, n.pastSale(t)} {
		n.writesNothing(t, func() {
			for _, command := range []string{"pause", "resume"} {
				n.command(t, id, command).problem(t, 409, "sale_closed")
			}
			n.stock(t, id, "1").problem(t, 409, "sale_closed")
			n.stock(t, id, "-1").problem(t, 409, "sale_closed")
			n.reschedule(t, id, `{"closesAt":"2099-01-01T00:00:00Z"}`).problem(t, 409, "sale_closed")
			if got := n.command(t, id, "close").sale(t, stdhttp.StatusOK); got.Status != "closed" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestServer_ChangeStock(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	id := n.sale(t, 10, 5)
	n.result(t, n.buy(t, id, `{"userId":"Ann","quantity":4}`).RequestID)
	for _, step := range []struct {
		delta            string
		stock, available int64
		status           string
	}{
		{"5", 15, 11, "open"},
		{"-11", 4, 0, "sold_out"},
		{"1999999996", 2_000_000_000, 1_999_999_996, "open"},
	} {
		if got := n.stock(t, id, step.delta).sale(t, stdhttp.StatusOK); got.Stock != step.stock || got.Available != step.available || got.Status != step.status {
			t.Errorf("%s: got %+v, want %d of %d free", step.delta, got, step.available, step.stock)
		}
	}
	n.writesNothing(t, func() {
		n.stock(t, id, "1").problem(t, 422, "invalid_request").at(t, "body.delta")
		if p := n.stock(t, id, "-1999999997").problem(t, 409, "stock_not_available"); !strings.Contains(p.Detail, "1999999996") {
			t.Errorf("the detail is %q, want it to say how many are free", p.Detail)
		}
		n.stock(t, id, "-9223372036854775808").problem(t, 409, "stock_not_available")
		n.stock(t, id, "9223372036854775807").problem(t, 422, "invalid_request").at(t, "body.delta")
	})
}

func TestServer_ChangeStock_BadInput(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	id := n.sale(t, 10, 1)
	path := fmt.Sprintf("/sales/%d/stock", id)
	n.writesNothing(t, func() {
		for name, test := range map[string]struct {
			body     string
			status   int
			code     string
			location string
		}{
			"Zero":         {`{"delta":0}`, 422, "invalid_request", "body.delta"},
			"Fraction":     {`{"delta":1.5}`, 422, "invalid_request", "body.delta"},
			"Text":         {`{"delta":"1"}`, 422, "invalid_request", "body.delta"},
			"Null":         {`{"delta":null}`, 422, "invalid_request", "body.delta"},
			"UnknownField": {`{"delta":1,"stock":1}`, 422, "invalid_request", "body.stock"},
			"Nothing":      {`{}`, 422, "invalid_request", ""},
			"Overflow":     {`{"delta":9223372036854775808}`, 422, "invalid_request", ""},
			"NegOverflow":  {`{"delta":-9223372036854775809}`, 422, "invalid_request", ""},
			"Exponent":     {`{"delta":1e400}`, 422, "invalid_request", ""},
			"Twice":        {`{"delta":1,"delta":2}`, 400, "invalid_json", ""},
			"Plus":         {`{"delta":+1}`, 400, "invalid_json", ""},
			"NoBody":       {``, 400, "invalid_json", ""},
		} {
			t.Run(name, func(t *testing.T) {
				p := n.post(t, path, test.body)
				if got := p.status; got == 400 && name == "Exponent" {
					return // no number that JSON's reader takes
				}
				if problem := p.problem(t, test.status, test.code); test.location != "" {
					problem.at(t, test.location)
				}
			})
		}
	})
}

func TestServer_RescheduleSale(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	shanghai := time.FixedZone("Shanghai", 8*60*60)
	opens := time.Now().Add(30*time.Minute + 123456789).In(shanghai)
	closes := opens.Add(time.Hour)

	toCome := n.saleToCome(t)
	before := n.getSale(t, toCome)
	got := n.reschedule(t, toCome, fmt.Sprintf(`{"opensAt":%q}`, rfc3339(opens))).sale(t, stdhttp.StatusOK)
	if want := opens.Truncate(time.Microsecond).UTC(); got.OpensAt != want || got.ClosesAt != before.ClosesAt || got.Status != "scheduled" {
		t.Errorf("got %+v, want it to open at %s and close as before", got, want)
	}
	got = n.reschedule(t, toCome, fmt.Sprintf(`{"closesAt":%q}`, rfc3339(closes))).sale(t, stdhttp.StatusOK)
	if want := closes.Truncate(time.Microsecond).UTC(); got.OpensAt != opens.Truncate(time.Microsecond).UTC() || got.ClosesAt != want {
		t.Errorf("got %+v, want it to close at %s and open as before", got, want)
	}
	if again := n.reschedule(t, toCome, fmt.Sprintf(`{"opensAt":%q,"closesAt":%q}`, rfc3339(opens), rfc3339(closes))).sale(t, 200); again.Revision != got.Revision {
		t.Errorf("moved to where it is it went from revision %d to %d", got.Revision, again.Revision)
	}
	got = n.reschedule(t, toCome, `{"opensAt":"2020-01-01T00:00:00Z"}`).sale(t, stdhttp.StatusOK)
	if age := got.ServerTime.Sub(got.OpensAt); got.Status != "open" || age < 0 || age > soon {
		t.Errorf("got %+v, want it to have opened just now", got)
	}
	n.buy(t, toCome, by("42"))
	n.reschedule(t, toCome, `{"opensAt":"2099-01-01T00:00:00Z","closesAt":"2099-01-02T00:00:00Z"}`).problem(t, 409, "sale_already_open")

	events := value[[]string](t, n, `select array_agg(data::text order by version) from events where sale_id = $1 and type = 'SaleRescheduled'`, toCome)
	if len(events) != 3 || !strings.HasSuffix(strings.TrimSuffix(events[0], `"}`), "Z") {
		t.Errorf("the events are %s, want three with times in UTC", events)
	}
}

func TestServer_RescheduleSale_BadInput(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	id := n.saleToCome(t) // from in an hour to in two hours
	at := func(d time.Duration) string { return `"` + rfc3339(time.Now().Add(d)) + `"` }
	n.writesNothing(t, func() {
		for name, test := range map[string]struct {
			body     string
			status   int
			code     string
			location string
		}{
			"Nothing":              {`{}`, 422, "invalid_request", "body"},
			"ClosesInThePast":      {`{"closesAt":` + at(-time.Minute) + `}`, 422, "invalid_request", "body.closesAt"},
			"ClosesBeforeItOpens":  {`{"closesAt":` + at(time.Minute) + `}`, 422, "invalid_request", "body.closesAt"},
			"WrongOrder":           {`{"opensAt":` + at(2*time.Minute) + `,"closesAt":` + at(time.Minute) + `}`, 422, "invalid_request", "body.closesAt"},
			"OpensAfterItCloses":   {`{"opensAt":` + at(3*time.Hour) + `}`, 422, "invalid_request", "body.opensAt"},
			"AllInThePast":         {`{"opensAt":` + at(-time.Hour) + `,"closesAt":` + at(-time.Minute) + `}`, 422, "invalid_request", "body.closesAt"},
			"SameMoment":           {`{"opensAt":"2099-01-01T08:00:00+08:00","closesAt":"2099-01-01T00:00:00Z"}`, 422, "invalid_request", "body.closesAt"},
			"WithoutZone":          {`{"closesAt":"2099-01-01T00:00:00"}`, 422, "invalid_request", "body.closesAt"},
			"OnADay":               {`{"closesAt":"2099-01-01"}`, 422, "invalid_request", "body.closesAt"},
			"OnFebruary30":         {`{"closesAt":"2099-02-30T00:00:00Z"}`, 422, "invalid_request", "body.closesAt"},
			"InTheYear10000":       {`{"closesAt":"9999-12-31T23:59:59-23:00"}`, 422, "invalid_request", "body.closesAt"},
			"OpensInTheYear1":      {`{"opensAt":"0001-01-01T00:00:00Z"}`, 422, "invalid_request", "body.opensAt"},
			"Number":               {`{"closesAt":4070908800}`, 422, "invalid_request", "body.closesAt"},
			"Null":                 {`{"closesAt":null}`, 422, "invalid_request", "body"},
			"OtherFields":          {`{"stock":5}`, 422, "invalid_request", "body.stock"},
			"NoBody":               {``, 400, "invalid_json", ""},
			"Twice":                {`{"closesAt":"2099-01-01T00:00:00Z","closesAt":"2098-01-01T00:00:00Z"}`, 400, "invalid_json", ""},
			"FieldInAnotherCasing": {`{"closesat":"2099-01-01T00:00:00Z"}`, 422, "invalid_request", "body.closesat"},
		} {
			t.Run(name, func(t *testing.T) {
				if p := n.reschedule(t, id, test.body).problem(t, test.status, test.code); test.location != "" {
					p.at(t, test.location)
				}
			})
		}
	})
}

// Who comes in a pause or after the closing is refused at the door, also under the
// old contract, and is let in again when the sale goes on.
func TestServer_RequestPurchase_PausedAndClosed(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	id := n.sale(t, 100, 1)
	buyer := 0
	press := func() answer {
		buyer++
		return n.post(t, purchases(id), by(fmt.Sprint(buyer)))
	}
	refuses := func(code string) {
		t.Helper()
		began := time.Now()
		eventually(t, "the door says "+code, func() bool { return press().status == stdhttp.StatusConflict })
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("the door refused after %s, want about a second at most", took)
		}
		press().problem(t, 409, code)
	}
	press().purchase(t, stdhttp.StatusAccepted)
	n.command(t, id, "pause").is(t, 200)
	refuses("sale_paused")
	submitted := n.post(t, "/seckill/submit", fmt.Sprintf(`{"userId":7,"goodsId":%d}`, id)).is(t, 200).fields(t)
	refused, _ := submitted["data"].(string)
	result, _ := n.get(t, "/seckill/result/"+refused).is(t, 200).fields(t)["data"].(map[string]any)
	if result["status"] != "failed" || result["msg"] != "活动已暂停，恢复后可再抢购" {
		t.Errorf("the old contract says %v", result)
	}
	if p := n.get(t, "/purchases/"+refused).purchase(t, 200); p.Reason != "sale_paused" {
		t.Errorf("got %+v", p)
	}
	n.command(t, id, "resume").is(t, 200)
	eventually(t, "the door is open again", func() bool { return press().status == stdhttp.StatusAccepted })
	n.command(t, id, "close").is(t, 200)
	refuses("sale_closed")
}

// Each status finds exactly the sales that show it, with pages as without filters.
func TestServer_ListSales_Filters(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	window := func(plan domain.SaleScheduled, opens, closes time.Duration) int64 {
		plan.Stock, plan.OpensAt, plan.ClosesAt = 10, time.Now().Add(opens), time.Now().Add(closes)
		return n.schedule(t, plan)
	}
	const hour = time.Hour
	var of7 []int64
	for range 2 {
		of7 = append(of7, window(domain.SaleScheduled{GoodsID: 7}, -hour, hour), window(domain.SaleScheduled{GoodsID: 7}, hour, 2*hour),
			window(domain.SaleScheduled{GoodsID: 7}, -2*hour, -hour))
		n.command(t, window(domain.SaleScheduled{}, -hour, hour), "pause").is(t, 200)
		n.command(t, window(domain.SaleScheduled{}, hour, 2*hour), "pause").is(t, 200)
		n.command(t, window(domain.SaleScheduled{}, -hour, hour), "close").is(t, 200)
		n.command(t, window(domain.SaleScheduled{}, hour, 2*hour), "close").is(t, 200)
		n.stock(t, window(domain.SaleScheduled{}, -hour, hour), "-10").is(t, 200)
		pausedAndClosed := window(domain.SaleScheduled{}, -hour, hour)
		n.command(t, pausedAndClosed, "pause").is(t, 200)
		n.command(t, pausedAndClosed, "close").is(t, 200)
	}
	read := func(query string) (all []sale) {
		t.Helper()
		cursor := ""
		for {
			var page salesPage
			n.get(t, "/sales?"+query+cursor).is(t, stdhttp.StatusOK).into(t, &page)
			all = append(all, page.Sales...)
			if page.Next == "" {
				return all
			}
			cursor = "&cursor=" + page.Next
		}
	}
	every := read("limit=100")
	if got := read("status="); len(got) != len(every) {
		t.Errorf("an empty filter leaves %d sales, want all %d", len(got), len(every))
	}
	for query, want := range map[string]struct {
		statuses []string
		count    int
	}{
		"status=open":                      {[]string{"open"}, 2},
		"status=scheduled":                 {[]string{"scheduled"}, 4},
		"status=paused":                    {[]string{"paused"}, 2},
		"status=sold_out":                  {[]string{"sold_out"}, 2},
		"status=closed":                    {[]string{"closed"}, 8},
		"status=open&status=paused":        {[]string{"open", "paused"}, 4},
		"status=closed&status=open":        {[]string{"closed", "open"}, 10},
		"status=scheduled&status=open":     {[]string{"scheduled", "open"}, 6},
		"goodsId=7":                        {[]string{"open", "scheduled", "closed"}, 6},
		"goodsId=7&status=open":            {[]string{"open"}, 2},
		"goodsId=7&status=paused":          {nil, 0},
		"goodsId=8":                        {nil, 0},
		"goodsId=9223372036854775807":      {nil, 0},
		"status=closed&goodsId=7":          {[]string{"closed"}, 2},
		"status=open&status=open&limit=50": {[]string{"open"}, 2},
	} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			var wanted []int64
			for _, s := range every {
				if slices.Contains(want.statuses, s.Status) && (!strings.Contains(query, "goodsId") || slices.Contains(of7, s.SaleID)) {
					wanted = append(wanted, s.SaleID)
				}
			}
			if len(wanted) != want.count {
				t.Fatalf("%d sales are so, want %d: %+v", len(wanted), want.count, every)
			}
			for _, limit := range []string{"&limit=1", "&limit=2", ""} {
				if strings.Contains(query, "limit") {
					limit = ""
				}
				var got []int64
				for _, s := range read(query + limit) {
					got = append(got, s.SaleID)
					if !slices.Contains(want.statuses, s.Status) {
						t.Errorf("it lists %+v", s)
					}
				}
				if !slices.Equal(got, wanted) {
					t.Errorf("%s: got %d, want %d", limit, got, wanted)
				}
			}
		})
	}
}

// Which sale goods mean: a paused one is still on, one that was closed by hand is over.
func TestServer_SaleOfGoods_ByHand(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	plan := func(opens, closes time.Duration) int64 {
		return n.schedule(t, domain.SaleScheduled{GoodsID: 7, Stock: 10, OpensAt: time.Now().Add(opens), ClosesAt: time.Now().Add(closes)})
	}
	means := func(want int64) {
		t.Helper()
		eventually(t, fmt.Sprint("the goods mean sale ", want), func() bool { // it is remembered for a moment which they meant
			body := n.post(t, "/seckill/submit", `{"userId":42,"goodsId":7}`).fields(t)
			id, _ := body["data"].(string)
			var got purchase
			n.get(t, "/purchases/"+id).is(t, 200).into(t, &got)
			return got.SaleID == want
		})
	}
	past := plan(-3*time.Hour, -2*time.Hour)
	means(past)
	next := plan(time.Hour, 2*time.Hour)
	means(next)
	on := plan(-time.Hour, time.Hour)
	means(on)
	n.command(t, on, "pause").is(t, 200)
	means(on)
	n.command(t, on, "close").is(t, 200)
	means(next)
	n.command(t, next, "close").is(t, 200)
	means(next) // the last to end
}
