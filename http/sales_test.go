package http_test

import (
	"fmt"
	stdhttp "net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"seckill/domain"
)

// sale is a sale as answers show it.
type sale struct {
	SaleID         int64
	GoodsID        int64
	Name           string
	Price          int64
	Currency       string
	Stock          int64
	Available      int64
	PerUserLimit   int
	OpensAt        time.Time
	ClosesAt       time.Time
	PaymentTimeout string
	Status         string
	Revision       int64
	ServerTime     time.Time
}

func (a answer) sale(t *testing.T, status int) sale {
	t.Helper()
	a.is(t, status)
	var s sale
	a.into(t, &s)
	return s
}

// getSale reads a sale.
func (c *client) getSale(t *testing.T, id int64) sale {
	t.Helper()
	return c.get(t, fmt.Sprint("/sales/", id)).sale(t, stdhttp.StatusOK)
}

// inAnHour is a time to close at, as JSON.
func inAnHour() string { return time.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano) }

func TestServer_ScheduleSale(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	opens := time.Date(2099, 11, 11, 0, 0, 0, 123456789, time.FixedZone("Shanghai", 8*60*60))
	a := n.post(t, "/sales", fmt.Sprintf(`{"goodsId":2002,"name":"秒杀 <1>","price":199900,"currency":"EUR","stock":2000000000,"perUserLimit":1000,
		"opensAt":%q,"closesAt":%q,"paymentTimeout":"1h30m"}`, opens.Format(time.RFC3339Nano), opens.Add(time.Hour).Format(time.RFC3339Nano)))

	got := a.sale(t, stdhttp.StatusCreated)
	want := sale{
		SaleID:         got.SaleID,
		GoodsID:        2002,
		Name:           "秒杀 <1>",
		Price:          199_900,
		Currency:       "EUR",
		Stock:          2_000_000_000,
		Available:      2_000_000_000,
		PerUserLimit:   1_000,
		OpensAt:        opens.UTC().Truncate(time.Microsecond),
		ClosesAt:       opens.UTC().Add(time.Hour).Truncate(time.Microsecond),
		PaymentTimeout: "1h30m",
		Status:         "scheduled",
		Revision:       1,
		ServerTime:     got.ServerTime,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the sale (-want +got):\n%s", diff)
	}
	if want := fmt.Sprint("/sales/", got.SaleID); got.SaleID < 1 || a.header.Get("Location") != want {
		t.Errorf("Location is %q, want %q", a.header.Get("Location"), want)
	}
	if since := time.Since(got.ServerTime).Abs(); since > time.Minute {
		t.Errorf("the server's time is %s away", since)
	}
	if diff := cmp.Diff(got, n.getSale(t, got.SaleID), cmpopts.IgnoreFields(sale{}, "ServerTime")); diff != "" {
		t.Errorf("read it is another (-scheduled +read):\n%s", diff)
	}
}

func TestServer_ScheduleSale_Defaults(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	got := n.post(t, "/sales", `{"stock":1,"closesAt":"`+inAnHour()+`"}`).sale(t, stdhttp.StatusCreated)
	want := sale{
		SaleID:         got.SaleID,
		GoodsID:        got.SaleID,
		Currency:       "CNY",
		Stock:          1,
		Available:      1,
		PerUserLimit:   1,
		OpensAt:        got.OpensAt,
		ClosesAt:       got.ClosesAt,
		PaymentTimeout: "15m",
		Status:         "open",
		Revision:       1,
		ServerTime:     got.ServerTime,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the sale (-want +got):\n%s", diff)
	}
	if age := got.ServerTime.Sub(got.OpensAt); age < 0 || age > soon {
		t.Errorf("it opened %s ago, want now", age)
	}
}

// Whatever zone the operator writes, the answer is in UTC.
func TestServer_ScheduleSale_Zones(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	for closesAt, want := range map[string]string{
		"2099-01-01T00:00:00Z":                "2099-01-01T00:00:00Z",
		"2099-01-01T00:00:00-00:00":           "2099-01-01T00:00:00Z",
		"2099-01-01T00:00:00+08:00":           "2098-12-31T16:00:00Z",
		"2099-01-01T00:00:00.5-03:30":         "2099-01-01T03:30:00.5Z",
		"2099-01-01T00:00:00+23:59":           "2098-12-31T00:01:00Z",
		"2099-01-01T00:00:00-23:59":           "2099-01-01T23:59:00Z",
		"2099-01-01T00:00:00.123456789+00:00": "2099-01-01T00:00:00.123456Z",
	} {
		t.Run(closesAt, func(t *testing.T) {
			t.Parallel()
			a := n.post(t, "/sales", `{"stock":1,"opensAt":"`+strings.Replace(closesAt, "2099", "2098", 1)+`","closesAt":"`+closesAt+`"}`).is(t, stdhttp.StatusCreated)
			if got := a.fields(t); got["closesAt"] != want || got["opensAt"] != strings.NewReplacer("2099", "2098", "2098", "2097").Replace(want) {
				t.Errorf("it is open from %v to %v, want until %s and from a year before", got["opensAt"], got["closesAt"], want)
			}
		})
	}
}

func TestServer_ScheduleSale_EachHasItsNumber(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	body := `{"goodsId":7,"stock":1,"closesAt":"` + inAnHour() + `"}`
	first, second := n.post(t, "/sales", body).sale(t, stdhttp.StatusCreated), n.post(t, "/sales", body).sale(t, stdhttp.StatusCreated)
	if first.SaleID == second.SaleID || first.GoodsID != 7 || second.GoodsID != 7 {
		t.Errorf("got %+v and %+v", first, second)
	}
}

func TestServer_ScheduleSale_BadInput(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	for name, test := range map[string]struct {
		fields   string // beside stock and closesAt, which the last of a name overrides
		location string
	}{
		"StockZero":                 {`"stock":0`, "body.stock"},
		"StockNegative":             {`"stock":-1`, "body.stock"},
		"StockTooLarge":             {`"stock":2000000001`, "body.stock"},
		"StockFraction":             {`"stock":1.5`, "body.stock"},
		"StockText":                 {`"stock":"10"`, "body.stock"},
		"StockNull":                 {`"stock":null`, "body.stock"},
		"LimitZero":                 {`"perUserLimit":0`, "body.perUserLimit"},
		"LimitNegative":             {`"perUserLimit":-1`, "body.perUserLimit"},
		"LimitTooLarge":             {`"perUserLimit":1001`, "body.perUserLimit"},
		"PriceNegative":             {`"price":-1`, "body.price"},
		"PriceAstronomical":         {`"price":9000000000001`, "body.price"},
		"PriceFraction":             {`"price":19.99`, "body.price"},
		"GoodsZero":                 {`"goodsId":0`, "body.goodsId"},
		"GoodsNegative":             {`"goodsId":-1`, "body.goodsId"},
		"GoodsText":                 {`"goodsId":"A-1"`, "body.goodsId"},
		"NameTooLong":               {`"name":"` + strings.Repeat("秒", 201) + `"`, "body.name"},
		"NameWithNul":               {`"name":"a\u0000b"`, "body.name"},
		"CurrencyInLowerCase":       {`"currency":"cny"`, "body.currency"},
		"CurrencyEmpty":             {`"currency":""`, "body.currency"},
		"CurrencyTooLong":           {`"currency":"YUAN"`, "body.currency"},
		"PaymentTimeoutWithoutUnit": {`"paymentTimeout":"15"`, "body.paymentTimeout"},
		"PaymentTimeoutNumber":      {`"paymentTimeout":900`, "body.paymentTimeout"},
		"PaymentTimeoutWord":        {`"paymentTimeout":"soon"`, "body.paymentTimeout"},
		"PaymentTimeoutEmpty":       {`"paymentTimeout":""`, "body.paymentTimeout"},
		"PaymentTimeoutZero":        {`"paymentTimeout":"0s"`, "body.paymentTimeout"},
		"PaymentTimeoutNegative":    {`"paymentTimeout":"-15m"`, "body.paymentTimeout"},
		"PaymentTimeoutTooShort":    {`"paymentTimeout":"999ms"`, "body.paymentTimeout"},
		"PaymentTimeoutTooLong":     {`"paymentTimeout":"720h1s"`, "body.paymentTimeout"},
		"PaymentTimeoutOverflows":   {`"paymentTimeout":"9999999999h"`, "body.paymentTimeout"},
		"ClosesNull":                {`"closesAt":null`, "body.closesAt"},
		"ClosesInThePast":           {`"closesAt":"2020-01-01T00:00:00Z"`, "body.closesAt"},
		"ClosesAsItOpens":           {`"opensAt":"2099-01-01T00:00:00Z","closesAt":"2099-01-01T00:00:00Z"`, "body.closesAt"},
		"ClosesWithinAMicrosecond":  {`"opensAt":"2099-01-01T00:00:00Z","closesAt":"2099-01-01T00:00:00.0000009Z"`, "body.closesAt"},
		"ClosesWithoutZone":         {`"closesAt":"2099-01-01T00:00:00"`, "body.closesAt"},
		"ClosesOnADay":              {`"closesAt":"2099-01-01"`, "body.closesAt"},
		"ClosesOnFebruary30":        {`"closesAt":"2099-02-30T00:00:00Z"`, "body.closesAt"},
		"ClosesAtANumber":           {`"closesAt":4070908800`, "body.closesAt"},
		"ClosesAfterASpace":         {`"closesAt":"2099-01-01 00:00:00Z"`, "body.closesAt"},
		"ClosesAtOneDigit":          {`"closesAt":"2099-01-01T1:00:00Z"`, "body.closesAt"},
		"ClosesAtAComma":            {`"closesAt":"2099-01-01T00:00:00,5Z"`, "body.closesAt"},
		"ClosesWithoutSeconds":      {`"closesAt":"2099-01-01T00:00Z"`, "body.closesAt"},
		"ClosesAtHour24":            {`"closesAt":"2099-01-01T24:00:00Z"`, "body.closesAt"},
		"ClosesInZone24":            {`"closesAt":"2099-01-01T00:00:00+24:00"`, "body.closesAt"},
		"ClosesInZone0060":          {`"closesAt":"2099-01-01T00:00:00+00:60"`, "body.closesAt"},
		"ClosesInAZoneWithoutColon": {`"closesAt":"2099-01-01T00:00:00+0800"`, "body.closesAt"},
		"ClosesInANamedZone":        {`"closesAt":"2099-01-01T00:00:00 CST"`, "body.closesAt"},
		"ClosesInTheHTTPForm":       {`"closesAt":"Thu, 01 Jan 2099 00:00:00 GMT"`, "body.closesAt"},
		"OpensAtAComma":             {`"opensAt":"2026-01-01T00:00:00,5Z"`, "body.opensAt"},
		"ClosesInTheYear10000":      {`"closesAt":"9999-12-31T23:59:59-23:00"`, "body.closesAt"},
		"OpensBeforeTheYear0":       {`"opensAt":"0000-01-01T00:00:00+23:00"`, "body.opensAt"},
		"OpensAtAWord":              {`"opensAt":"now"`, "body.opensAt"},
		"OpensEmpty":                {`"opensAt":""`, "body.opensAt"},
		"UnknownField":              {`"saleId":1001`, "body.saleId"},
	} {
		t.Run(name, func(t *testing.T) {
			body := "{" + test.fields
			for field, value := range map[string]string{"stock": "10", "closesAt": `"` + inAnHour() + `"`} {
				if !strings.Contains(test.fields, `"`+field+`":`) {
					body += `,"` + field + `":` + value
				}
			}
			n.writesNothing(t, func() {
				n.post(t, "/sales", body+"}").problem(t, 422, "invalid_request").at(t, test.location)
			})
		})
	}
}

func TestServer_ScheduleSale_BrokenBody(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	for name, test := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"WithoutStock":  {`{"closesAt":"2099-01-01T00:00:00Z"}`, 422, "invalid_request"},
		"WithoutEnd":    {`{"stock":10}`, 422, "invalid_request"},
		"DuplicateKey":  {`{"stock":10,"stock":20,"closesAt":"2099-01-01T00:00:00Z"}`, 400, "invalid_json"},
		"NameNotUTF8":   {"{\"stock\":10,\"closesAt\":\"2099-01-01T00:00:00Z\",\"name\":\"\xff\"}", 400, "invalid_json"},
		"BrokenJSON":    {`{"stock":`, 400, "invalid_json"},
		"NoBody":        {"", 400, "invalid_json"},
		"TooLarge":      {`{"name":"` + strings.Repeat("a", 16<<10) + `"}`, 413, "body_too_large"},
		"NotAnObject":   {`[]`, 422, "invalid_request"},
		"NumberTooLong": {`{"stock":10,"goodsId":9223372036854775808,"closesAt":"2099-01-01T00:00:00Z"}`, 422, "invalid_request"},
	} {
		t.Run(name, func(t *testing.T) {
			n.writesNothing(t, func() { n.post(t, "/sales", test.body).problem(t, test.status, test.code) })
		})
	}
	t.Run("WrongContentType", func(t *testing.T) {
		n.writesNothing(t, func() {
			n.post(t, "/sales", `{}`, "Content-Type: text/plain").problem(t, stdhttp.StatusUnsupportedMediaType, "unsupported_media_type")
		})
	})
}

// A sale shows what was decided: fewer free units, and a revision that grows.
func TestServer_GetSale_AfterPurchases(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	id := n.sale(t, 3, 2)
	before := n.getSale(t, id)
	n.result(t, n.buy(t, id, `{"userId":"Ann","quantity":2}`).RequestID)
	during := n.getSale(t, id)
	n.result(t, n.buy(t, id, by("Ben")).RequestID)
	after := n.getSale(t, id)

	if before.Available != 3 || before.Status != "open" || during.Available != 1 || during.Status != "open" {
		t.Errorf("got %+v and then %+v", before, during)
	}
	if after.Available != 0 || after.Stock != 3 || after.Status != "sold_out" {
		t.Errorf("got %+v, want it sold out", after)
	}
	if !slices.IsSorted([]int64{before.Revision, during.Revision, after.Revision}) || before.Revision == during.Revision || during.Revision == after.Revision {
		t.Errorf("the revisions are %d, %d and %d, want them to grow", before.Revision, during.Revision, after.Revision)
	}
}

func TestServer_GetSale_Status(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	soldOut, soldOutAndOver := n.sale(t, 1, 1), n.pastSale(t)
	n.exec(t, "update sales set available = 0 where sale_id = any($1)", []int64{soldOut, soldOutAndOver})
	for name, test := range map[string]struct {
		id   int64
		want string
	}{
		"Scheduled":      {n.saleToCome(t), "scheduled"},
		"Open":           {n.sale(t, 1, 1), "open"},
		"SoldOut":        {soldOut, "sold_out"},
		"Closed":         {n.pastSale(t), "closed"},
		"SoldOutAndOver": {soldOutAndOver, "closed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := n.get(t, fmt.Sprint("/sales/", test.id))
			if got := a.sale(t, stdhttp.StatusOK); got.Status != test.want {
				t.Errorf("got %s, want %s", got.Status, test.want)
			}
			if got := a.header.Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control is %q", got)
			}
		})
	}
}

type salesPage struct {
	Sales []sale
	Next  string
}

func TestServer_ListSales(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	if a := n.get(t, "/sales").is(t, stdhttp.StatusOK); strings.TrimSpace(string(a.body)) != `{"sales":[]}` {
		t.Errorf("without sales it is %s", a.body)
	}
	var want []int64
	for range 5 {
		want = append([]int64{n.schedule(t, domain.SaleScheduled{Stock: 10})}, want...) // the newest is first
	}
	for _, limit := range []int{1, 2, 3, 4, 5, 100} {
		t.Run(fmt.Sprint("By", limit), func(t *testing.T) {
			t.Parallel()
			var got []int64
			cursor := ""
			for range 6 {
				var page salesPage
				n.get(t, fmt.Sprintf("/sales?limit=%d%s", limit, cursor)).is(t, stdhttp.StatusOK).into(t, &page)
				if len(page.Sales) == 0 || len(page.Sales) > limit {
					t.Errorf("a page has %d sales, want 1 to %d", len(page.Sales), limit)
				}
				for _, s := range page.Sales {
					got = append(got, s.SaleID)
				}
				if page.Next == "" {
					break
				}
				cursor = "&cursor=" + page.Next
			}
			if !slices.Equal(got, want) {
				t.Errorf("got the sales %d, want %d", got, want)
			}
		})
	}
}

func TestServer_ListSales_TwentyByDefault(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	for range 21 {
		n.schedule(t, domain.SaleScheduled{Stock: 10})
	}
	var page salesPage
	n.get(t, "/sales").is(t, stdhttp.StatusOK).into(t, &page)
	if len(page.Sales) != 20 || page.Next == "" {
		t.Errorf("got %d sales and the cursor %q, want 20 of 21", len(page.Sales), page.Next)
	}
}

func TestServer_ListSales_BadInput(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	for query, location := range map[string]string{
		"status=over":                 "query.status[0]",
		"status=open,paused":          "query.status[0]",
		"status=open&status=OPEN":     "query.status[1]",
		"goodsId=0":                   "query.goodsId",
		"goodsId=-1":                  "query.goodsId",
		"goodsId=A-1":                 "query.goodsId",
		"goodsId=9223372036854775808": "query.goodsId",
		"limit=0":                     "query.limit",
		"limit=-1":                    "query.limit",
		"limit=101":                   "query.limit",
		"limit=many":                  "query.limit",
		"limit=1.5":                   "query.limit",
		"limit=9223372036854775808":   "query.limit",
		"cursor=abc":                  "query.cursor",
		"cursor=-1":                   "query.cursor",
		"cursor=9223372036854775808":  "query.cursor",
		"cursor=1%20or%201=1":         "query.cursor",
		"cursor=%00":                  "query.cursor",
		"cursor=1000000000000000000x": "query.cursor",
	} {
		t.Run(query, func(t *testing.T) {
			t.Parallel()
			n.get(t, "/sales?"+query).problem(t, 422, "invalid_request").at(t, location)
		})
	}
}
