package http_test

import (
	"encoding/json"
	"fmt"
	"maps"
	stdhttp "net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"seckill/domain"
)

// envelope is every answer of the /seckill contract.
type envelope struct {
	Code int
	Msg  string
	Data json.RawMessage
}

// seckillResult is the data of a result.
type seckillResult struct {
	Status  string
	Success bool
	OrderID string
	Msg     string
}

// envelope fails the test unless the answer has that status and is an envelope
// with nothing beside it.
func (a answer) envelope(t *testing.T, status int) envelope {
	t.Helper()
	a.is(t, status)
	var e envelope
	a.into(t, &e)
	if got := fieldsOf(t, a); !slices.Equal(got, []string{"code", "data", "msg"}) {
		t.Errorf("got the fields %s, want code, data and msg", got)
	}
	if got := a.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("its type is %q", got)
	}
	if got := a.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q", got)
	}
	return e
}

// refusal fails the test unless the answer is an error in the envelope.
func (a answer) refusal(t *testing.T, status int) string {
	t.Helper()
	e := a.envelope(t, status)
	if e.Code != status || string(e.Data) != "null" || e.Msg == "" {
		t.Errorf("got %s, want the code %d, a msg and no data", a.body, status)
	}
	return e.Msg
}

// submit submits by the /seckill contract and returns the request ID.
func (c *client) submit(t *testing.T, body string, status int) string {
	t.Helper()
	a := c.post(t, "/seckill/submit", body)
	e := a.envelope(t, status)
	var id string
	if err := json.Unmarshal(e.Data, &id); err != nil || e.Code != 0 || id == "" {
		t.Fatalf("got %s, want the code 0 and a request ID", a.body)
	}
	if want := "请求已受理，请等待结果"; e.Msg != want {
		t.Errorf("msg is %q, want %q", e.Msg, want)
	}
	return id
}

// seckillResult asks for a result by the /seckill contract.
func (c *client) seckillResult(t *testing.T, address string) seckillResult {
	t.Helper()
	a := c.get(t, "/seckill/result/"+address)
	e := a.envelope(t, stdhttp.StatusOK)
	var fields map[string]any
	if err := json.Unmarshal(e.Data, &fields); err != nil || e.Code != 0 {
		t.Fatalf("got %s, want the code 0 and a result", a.body)
	}
	if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, []string{"msg", "orderId", "status", "success"}) {
		t.Errorf("got the fields %s", got)
	}
	var result seckillResult
	if err := json.Unmarshal(e.Data, &result); err != nil {
		t.Fatal(err)
	}
	return result
}

func TestServer_Seckill(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	id := n.schedule(t, domain.SaleScheduled{GoodsID: 7, Stock: 2})

	won := n.submit(t, `{"userId":42,"goodsId":7}`, stdhttp.StatusAccepted)
	got := n.seckillResult(t, won+"?wait=10s")
	if want := (seckillResult{Status: "succeeded", Success: true, OrderID: got.OrderID}); got != want || got.OrderID == "" {
		t.Errorf("the winner got %+v", got)
	}
	same := n.result(t, won)
	if same.UserID != "42" || same.SaleID != id || same.Quantity != 1 || same.OrderID != got.OrderID {
		t.Errorf("under /purchases it is %+v", same)
	}

	again := n.submit(t, `{"userId":"42","goodsId":7}`, stdhttp.StatusAccepted)
	got = n.seckillResult(t, again+"?wait=10s")
	if want := (seckillResult{Status: "failed", Msg: "您已抢购过该商品，超出限购数量"}); got != want {
		t.Errorf("the same buyer, now as text, got %+v, want %+v", got, want)
	}

	n.seckillResult(t, n.submit(t, `{"userId":44,"goodsId":7}`, stdhttp.StatusAccepted)+"?wait=10s") // the last unit

	var late string // it is taken in, or refused at the door once that knows
	a := n.post(t, "/seckill/submit", `{"userId":43,"goodsId":7}`)
	if err := json.Unmarshal(a.envelope(t, a.status).Data, &late); err != nil || a.status != 202 && a.status != 200 {
		t.Fatalf("the late submit got %d %s", a.status, a.body)
	}
	got = n.seckillResult(t, late+"?wait=10s")
	if want := (seckillResult{Status: "failed", Msg: "手慢了，商品已抢完"}); got != want {
		t.Errorf("the loser got %+v, want %+v", got, want)
	}
}

func TestServer_Seckill_Processing(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	n.schedule(t, domain.SaleScheduled{GoodsID: 7, Stock: 1})
	id := n.submit(t, `{"userId":42,"goodsId":7}`, stdhttp.StatusAccepted)
	for _, wait := range []string{"", "?wait=0", "?wait=50ms"} {
		got := n.seckillResult(t, id+wait)
		if got.Status != "processing" || got.Success || got.OrderID != "" || got.Msg == "" {
			t.Errorf("%q got %+v", wait, got)
		}
	}
}

// It always speaks Chinese, as its clients expect.
func TestServer_Seckill_Language(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	n.schedule(t, domain.SaleScheduled{GoodsID: 7, Stock: 1})
	id := n.submit(t, `{"userId":42,"goodsId":7}`, stdhttp.StatusAccepted)
	n.decide(t, uuid.MustParse(id), domain.PurchaseRejected{Reason: domain.ReasonSoldOut})
	n.result(t, id)
	for _, language := range []string{"en", "zh-CN", "fr"} {
		a := n.get(t, "/seckill/result/"+id, "Accept-Language: "+language)
		if !strings.Contains(string(a.body), "手慢了，商品已抢完") {
			t.Errorf("in %s it says %s", language, a.body)
		}
	}
}

// With wait it holds exactly as long as a purchase does.
func TestServer_SeckillResult_Wait(t *testing.T) {
	t.Parallel()
	for wait, want := range map[string]time.Duration{"": 0, "?wait=2": 2 * time.Second, "?wait=1m": 30 * time.Second} {
		t.Run(wait, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := startMemoryNode(t)
				id := n.accept().RequestID.String()
				asked := time.Now()
				if got := n.seckillResult(t, id+wait); got.Status != "processing" {
					t.Errorf("got %+v", got)
				}
				if got := time.Since(asked); got != want {
					t.Errorf("it waited %s, want %s", got, want)
				}
			})
		})
	}
}

// A buyer is a text, or a number that stands for its decimal digits.
func TestServer_SeckillSubmit_User(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	n.schedule(t, domain.SaleScheduled{GoodsID: 7, Stock: 1})
	for user, want := range map[string]string{
		`42`:                                "42",
		`"42"`:                              "42",
		`0`:                                 "0",
		`-7`:                                "-7",
		`9223372036854775807`:               "9223372036854775807",
		`18446744073709551615`:              "18446744073709551615",
		`"` + strings.Repeat("买", 64) + `"`: strings.Repeat("买", 64),
	} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			id := n.submit(t, fmt.Sprintf(`{"goodsId":7,"userId":%s}`, user), stdhttp.StatusAccepted)
			if p := n.get(t, "/purchases/"+id).purchase(t, stdhttp.StatusOK); p.UserID != want {
				t.Errorf("the buyer is %q, want %q", p.UserID, want)
			}
		})
	}
}

func TestServer_SeckillSubmit_BadInput(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	n.schedule(t, domain.SaleScheduled{GoodsID: 7, Stock: 1})
	for name, test := range map[string]struct {
		body   string
		status int
	}{
		"UserMissing":         {`{"goodsId":7}`, 422},
		"NothingGiven":        {`{}`, 422},
		"UserNull":            {`{"userId":null,"goodsId":7}`, 422},
		"UserEmpty":           {`{"userId":"","goodsId":7}`, 422},
		"UserFraction":        {`{"userId":4.2,"goodsId":7}`, 422},
		"UserExponent":        {`{"userId":4e1,"goodsId":7}`, 422},
		"UserTrue":            {`{"userId":true,"goodsId":7}`, 422},
		"UserArray":           {`{"userId":["42"],"goodsId":7}`, 422},
		"UserTooLong":         {`{"userId":"` + strings.Repeat("买", 65) + `","goodsId":7}`, 422},
		"UserWithControl":     {`{"userId":"a\u0000","goodsId":7}`, 422},
		"UserNotUTF8":         {"{\"userId\":\"\xff\",\"goodsId\":7}", 400},
		"UserNumberTooLong":   {`{"userId":` + strings.Repeat("4", 65) + `,"goodsId":7}`, 422},
		"GoodsMissing":        {`{"userId":42}`, 422},
		"GoodsNull":           {`{"userId":42,"goodsId":null}`, 422},
		"GoodsZero":           {`{"userId":42,"goodsId":0}`, 422},
		"GoodsNegative":       {`{"userId":42,"goodsId":-7}`, 422},
		"GoodsText":           {`{"userId":42,"goodsId":"7"}`, 422},
		"GoodsFraction":       {`{"userId":42,"goodsId":7.5}`, 422},
		"GoodsTooLarge":       {`{"userId":42,"goodsId":9223372036854775808}`, 422},
		"UnknownGoods":        {`{"userId":42,"goodsId":8}`, 404},
		"LargestUnknownGoods": {`{"userId":42,"goodsId":9223372036854775807}`, 404},
		"UnknownField":        {`{"userId":42,"goodsId":7,"quantity":2}`, 422},
		"FieldInOtherCase":    {`{"userId":42,"goodsid":7}`, 422},
		"DuplicateUser":       {`{"userId":42,"userId":43,"goodsId":7}`, 400},
		"DuplicateGoods":      {`{"userId":42,"goodsId":7,"goodsId":7}`, 400},
		"NoBody":              {``, 400},
		"CutOff":              {`{"userId":42`, 400},
		"TwoValues":           {`{"userId":42,"goodsId":7}{}`, 400},
		"Array":               {`[42,7]`, 422},
		"Null":                {`null`, 422},
		"Text":                {`"42"`, 422},
		"TooLarge":            {`{"userId":"` + strings.Repeat("a", 17<<10) + `","goodsId":7}`, 413},
	} {
		t.Run(name, func(t *testing.T) {
			n.writesNothing(t, func() {
				msg := n.post(t, "/seckill/submit", test.body).refusal(t, test.status)
				if test.status == 404 && msg != "商品不存在" {
					t.Errorf("msg is %q", msg)
				}
			})
		})
	}
	for _, contentType := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json5", "nonsense/"} {
		t.Run(strings.ReplaceAll(contentType, "/", "_"), func(t *testing.T) {
			n.writesNothing(t, func() {
				n.post(t, "/seckill/submit", `{"userId":42,"goodsId":7}`, "Content-Type: "+contentType).refusal(t, 415)
			})
		})
	}
	t.Run("BrokenTransfer", func(t *testing.T) {
		n.writesNothing(t, func() {
			n.raw(t, "POST /seckill/submit HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{}").refusal(t, 400)
		})
	})
}

func TestServer_SeckillResult_BadInput(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	for _, id := range []string{"01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f", "42", "nonsense", "%00", "%ff", "refused-", "refused-AAAA"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			for _, wait := range []string{"", "?wait=30s"} {
				if msg := n.get(t, "/seckill/result/"+id+wait).refusal(t, 404); msg != "请求ID不存在" {
					t.Errorf("msg is %q", msg)
				}
			}
		})
	}
	for _, wait := range []string{"soon", "-1", "-1s", "NaN"} {
		t.Run("Wait_"+wait, func(t *testing.T) {
			t.Parallel()
			n.get(t, "/seckill/result/01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f?wait="+wait).refusal(t, 422)
		})
	}
}

// Goods mean the sale that is on, else the next, else the last.
func TestServer_SeckillSubmit_SaleOfGoods(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	at := func(hours int) time.Time { return time.Now().Add(time.Duration(hours) * time.Hour) }
	plan := func(goods int64, opens, closes int) int64 {
		return n.schedule(t, domain.SaleScheduled{GoodsID: goods, Stock: 10, OpensAt: at(opens), ClosesAt: at(closes)})
	}
	past, older := plan(1, -3, -2), plan(1, -5, -4)
	current := plan(1, -1, 1)
	next, later := plan(1, 2, 3), plan(1, 4, 5)
	plan(2, -5, -4)
	plan(2, 4, 5)
	nextOfTwo := plan(2, 2, 3)
	plan(3, -5, -4)
	lastOfThree := plan(3, -3, -2)
	for name, test := range map[string]struct {
		goods, want int64
		status      int
	}{
		"Current": {1, current, stdhttp.StatusAccepted},
		"Next":    {2, nextOfTwo, stdhttp.StatusOK},
		"Last":    {3, lastOfThree, stdhttp.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := n.submit(t, fmt.Sprintf(`{"userId":42,"goodsId":%d}`, test.goods), test.status)
			if p := n.get(t, "/purchases/"+id).purchase(t, stdhttp.StatusOK); p.SaleID != test.want {
				t.Errorf("goods %d mean the sale %d, want %d of %d", test.goods, p.SaleID, test.want, []int64{older, past, current, next, later})
			}
		})
	}
}

// A refusal at the door is a request ID that resolves to the failure, everywhere
// that request IDs do, without a write.
func TestServer_SeckillSubmit_Refused(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	other := startNodeOn(t, n.url, nodeConfig{idle: true})
	for reason, test := range map[string]struct {
		sale int64
		msg  string
	}{
		"sale_not_open": {n.saleToCome(t), "活动尚未开始"},
		"sale_closed":   {n.pastSale(t), "活动已结束"},
	} {
		t.Run(reason, func(t *testing.T) {
			n.writesNothing(t, func() {
				before := time.Now()
				id := n.submit(t, fmt.Sprintf(`{"userId":"<Ann>","goodsId":%d}`, test.sale), stdhttp.StatusOK)
				want := seckillResult{Status: "failed", Msg: test.msg}
				for _, node := range []*node{n, other} {
					if got := node.seckillResult(t, id+"?wait=30s"); got != want {
						t.Errorf("got %+v, want %+v", got, want)
					}
					p := node.get(t, "/purchases/"+id+"?wait=30s", "Accept-Language: zh-CN").purchase(t, stdhttp.StatusOK)
					checkRefusal(t, p, id, reason, test.sale)
					if p.Message != test.msg || p.DecidedAt.Before(before.Add(-time.Second)) {
						t.Errorf("got %+v", p)
					}
					e := node.follow(t.Context(), t, id).until(t)
					if e["id"] != "2" || e["event"] != "result" {
						t.Errorf("the stream says %v", e)
					}
					var pushed purchase
					answer{body: []byte(e["data"])}.into(t, &pushed)
					checkRefusal(t, pushed, id, reason, test.sale)
					node.get(t, "/purchases/"+id+"/events", "Last-Event-ID: 2").is(t, stdhttp.StatusNoContent)
					if h := node.get(t, "/purchases/"+id+"/history").is(t, stdhttp.StatusOK).fields(t); h["requestId"] != id || len(h["events"].([]any)) != 0 {
						t.Errorf("its history is %v, want that nothing was recorded", h)
					}
				}
			})
		})
	}
}

// checkRefusal checks what is shown of a refusal under its own request ID.
func checkRefusal(t *testing.T, p purchase, id, reason string, sale int64) {
	t.Helper()
	failed := false
	want := purchase{
		RequestID: id, SaleID: sale, UserID: "<Ann>", Quantity: 1, Status: "failed", Success: &failed, Reason: reason,
		Message: p.Message, DecidedAt: p.DecidedAt,
	}
	want.Links.Self = "/purchases/" + id
	want.Links.Events = want.Links.Self + "/events"
	want.Links.WS = want.Links.Self + "/ws"
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("the refusal (-want +got):\n%s", diff)
	}
}

// Nobody can make up a refusal, nor turn one into another.
func TestServer_SeckillSubmit_RefusalForged(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	id := n.submit(t, fmt.Sprintf(`{"userId":42,"goodsId":%d}`, n.pastSale(t)), stdhttp.StatusOK)
	forged := map[string]string{
		"CutOff":        id[:len(id)-1],
		"Lengthened":    id + "A",
		"OnlySignature": id[:len("refused-")+43],
		"OtherPrefix":   strings.Replace(id, "refused-", "Refused-", 1),
		"NoPrefix":      strings.TrimPrefix(id, "refused-"),
		"Padded":        id + "%3D",
		"LineInside":    id[:20] + "%0A" + id[20:],
	}
	for _, i := range []int{len("refused-"), len("refused-") + 20, len("refused-") + 50, len(id) - 8, len(id) - 1} {
		digit := byte('A')
		if id[i] == digit {
			digit = 'B'
		}
		forged[fmt.Sprint("Altered", i)] = id[:i] + string(digit) + id[i+1:]
	}
	for name, forgery := range forged {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n.get(t, "/purchases/"+forgery).problem(t, 404, "request_not_found")
			n.get(t, "/purchases/"+forgery+"/events").problem(t, 404, "request_not_found")
			n.get(t, "/seckill/result/"+forgery).refusal(t, 404)
		})
	}
}
