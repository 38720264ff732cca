package http_test

import (
	"fmt"
	stdhttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/domain"
)

// orderOf is the order of a purchase that was won on a node that decides nothing by
// itself.
func (n *node) orderOf(t *testing.T, saleID int64, user string, sequence int64, payIn time.Duration) (orderID, requestID string) {
	t.Helper()
	orderID = domain.OrderID(sequence)
	requestID = n.buy(t, saleID, by(user)).RequestID
	n.decide(t, uuid.MustParse(requestID), domain.PurchaseConfirmed{
		OrderID: orderID, Quantity: 1, Amount: 199_900, Currency: "CNY", PayBy: time.Now().Add(payIn).UTC().Truncate(time.Microsecond),
	})
	// As deciding does beside the events.
	n.exec(t, "update sales set available = available - 1 where sale_id = $1", saleID)
	n.exec(t, `insert into allowances (sale_id, user_id, quantity, request_id, order_id) values ($1, $2, 1, $3::text::uuid, $4)
		on conflict (sale_id, user_id) do update set quantity = allowances.quantity + 1`, saleID, user, requestID, orderID)
	return orderID, requestID
}

func (a answer) order(t *testing.T, status string) order {
	t.Helper()
	a.is(t, stdhttp.StatusOK)
	if got := a.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q", got)
	}
	var o order
	a.into(t, &o)
	if o.Status != status {
		t.Errorf("got %s, want it %s", a.body, status)
	}
	return o
}

func TestServer_OrderCommands(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 100, 100)
	const payment, refund = `{"paymentReference":"pay-1","amount":199900}`, `{"paymentReference":"refund-1"}`
	available := func() int64 { return value[int64](t, n, "select available from sales where sale_id = $1", sale) }

	t.Run("PayAndRefund", func(t *testing.T) {
		id, _ := n.orderOf(t, sale, "42", 1, time.Hour)
		path := "/orders/" + id
		n.post(t, path+"/refund", refund).problem(t, 409, "order_not_paid")
		paid := n.post(t, path+"/pay", payment).order(t, "paid")
		if paid.OrderID != id || paid.PaidAt.IsZero() || !paid.EndedAt.IsZero() {
			t.Errorf("got %+v, want when it was paid", paid)
		}
		if again := n.post(t, path+"/pay", `{"paymentReference":"pay-1"}`).order(t, "paid"); again != paid {
			t.Errorf("the same payment again: got %+v, want %+v", again, paid)
		}
		n.post(t, path+"/pay", `{"paymentReference":"pay-2"}`).problem(t, 409, "already_paid")
		n.post(t, path+"/cancel", `{"userId":"42"}`).problem(t, 409, "order_paid")
		free := available()
		refunded := n.post(t, path+"/refund", refund).order(t, "refunded")
		if refunded.PaidAt != paid.PaidAt || refunded.EndedAt.IsZero() {
			t.Errorf("got %+v, want when it was paid and refunded", refunded)
		}
		n.post(t, path+"/refund", refund).order(t, "refunded")
		n.post(t, path+"/refund", `{"paymentReference":"refund-2"}`).problem(t, 409, "already_refunded")
		n.post(t, path+"/pay", payment).order(t, "refunded")
		if got := available() - free; got != 1 {
			t.Errorf("%d units came back, want 1: restock is true by default", got)
		}
	})

	t.Run("RefundWithoutRestock", func(t *testing.T) {
		id, _ := n.orderOf(t, sale, "43", 2, time.Hour)
		n.post(t, "/orders/"+id+"/pay", payment).order(t, "paid")
		free := available()
		n.post(t, "/orders/"+id+"/refund", `{"paymentReference":"refund-1","restock":false}`).order(t, "refunded")
		if got := available() - free; got != 0 {
			t.Errorf("%d units came back, want none", got)
		}
	})

	t.Run("Cancel", func(t *testing.T) {
		id, _ := n.orderOf(t, sale, "44", 3, time.Hour)
		n.post(t, "/orders/"+id+"/cancel", `{"userId":"42"}`).problem(t, 404, "order_not_found")
		cancelled := n.post(t, "/orders/"+id+"/cancel", `{"userId":"44"}`).order(t, "cancelled")
		if cancelled.EndedAt.IsZero() || !cancelled.PaidAt.IsZero() {
			t.Errorf("got %+v, want when it was cancelled", cancelled)
		}
		n.post(t, "/orders/"+id+"/cancel", `{"userId":"44"}`).order(t, "cancelled")
		n.post(t, "/orders/"+id+"/pay", payment).problem(t, 409, "order_cancelled")
		n.post(t, "/orders/"+id+"/refund", refund).problem(t, 409, "order_not_paid")
		if got := n.get(t, "/orders/"+id).order(t, "cancelled"); got != cancelled {
			t.Errorf("it reads as %+v, want %+v", got, cancelled)
		}
	})

	t.Run("TooLate", func(t *testing.T) {
		id, _ := n.orderOf(t, sale, "45", 4, -time.Second)
		n.post(t, "/orders/"+id+"/pay", payment).problem(t, 409, "payment_too_late")
		n.post(t, "/orders/"+id+"/cancel", `{"userId":"45"}`).problem(t, 409, "order_expired")
		n.get(t, "/orders/"+id).order(t, "pending_payment") // nothing expires on this node
	})
}

func TestServer_OrderCommands_BadInput(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 10, 1)
	id, _ := n.orderOf(t, sale, "42", 1, time.Hour)
	for name, test := range map[string]struct {
		command, body string
		status        int
		code          string
		location      string // "" where the code says it all
	}{
		"UserMissing":         {"cancel", `{}`, 422, "user_required", ""},
		"UserEmpty":           {"cancel", `{"userId":""}`, 422, "invalid_request", "body.userId"},
		"UserNumber":          {"cancel", `{"userId":42}`, 422, "invalid_request", "body.userId"},
		"UserWithNewLine":     {"cancel", `{"userId":"4\n2"}`, 422, "invalid_request", "body.userId"},
		"UserTooLong":         {"cancel", `{"userId":"` + strings.Repeat("a", 65) + `"}`, 422, "invalid_request", "body.userId"},
		"CancelWithoutBody":   {"cancel", ``, 400, "invalid_json", ""},
		"CancelUnknownField":  {"cancel", `{"userId":"42","why":"no"}`, 422, "invalid_request", "body.why"},
		"ReferenceMissing":    {"pay", `{}`, 422, "invalid_request", "body"},
		"ReferenceEmpty":      {"pay", `{"paymentReference":""}`, 422, "invalid_request", "body.paymentReference"},
		"ReferenceTooLong":    {"pay", `{"paymentReference":"` + strings.Repeat("付", 129) + `"}`, 422, "invalid_request", "body.paymentReference"},
		"ReferenceWithNul":    {"pay", `{"paymentReference":"a\u0000"}`, 422, "invalid_request", "body.paymentReference"},
		"ReferenceNotUTF8":    {"pay", "{\"paymentReference\":\"\xff\"}", 400, "invalid_json", ""},
		"ReferenceNumber":     {"pay", `{"paymentReference":1}`, 422, "invalid_request", "body.paymentReference"},
		"AmountWrong":         {"pay", `{"paymentReference":"a","amount":199901}`, 422, "invalid_request", "body.amount"},
		"AmountZero":          {"pay", `{"paymentReference":"a","amount":0}`, 422, "invalid_request", "body.amount"},
		"AmountNegative":      {"pay", `{"paymentReference":"a","amount":-199900}`, 422, "invalid_request", "body.amount"},
		"AmountFraction":      {"pay", `{"paymentReference":"a","amount":1999.5}`, 422, "invalid_request", "body.amount"},
		"AmountText":          {"pay", `{"paymentReference":"a","amount":"199900"}`, 422, "invalid_request", "body.amount"},
		"RefundWithoutBody":   {"refund", ``, 400, "invalid_json", ""},
		"RefundReferenceGone": {"refund", `{"restock":true}`, 422, "invalid_request", "body"},
		"RestockText":         {"refund", `{"paymentReference":"a","restock":"yes"}`, 422, "invalid_request", "body.restock"},
	} {
		t.Run(name, func(t *testing.T) {
			n.writesNothing(t, func() {
				p := n.post(t, "/orders/"+id+"/"+test.command, test.body).problem(t, test.status, test.code)
				if test.location != "" {
					p.at(t, test.location)
				}
			})
		})
	}
	for _, command := range []string{"cancel", "pay", "refund"} {
		body := map[string]string{"cancel": `{"userId":"42"}`}[command]
		if body == "" {
			body = `{"paymentReference":"a"}`
		}
		for name, unknown := range map[string]string{"Unknown": domain.OrderID(42), "WrongCheck": "7K4-M29-QX0", "Nul": "%00", "Number": "42"} {
			t.Run(command+name, func(t *testing.T) {
				n.post(t, "/orders/"+unknown+"/"+command, body).problem(t, 404, "order_not_found")
			})
		}
	}
}

// An order whose purchase others keep locked is not known to be changed: the caller
// is told to come again.
func TestServer_PayOrder_Locked(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	id, request := n.orderOf(t, n.sale(t, 10, 1), "42", 1, time.Hour)
	conn, err := n.pools.Decide.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), "select pg_advisory_lock(3554, uuid_hash($1::text::uuid))", request); err != nil {
		t.Fatal(err)
	}
	n.post(t, "/orders/"+id+"/pay", `{"paymentReference":"a"}`).problem(t, 503, "unavailable")
	if _, err := conn.Exec(t.Context(), "select pg_advisory_unlock_all()"); err != nil {
		t.Fatal(err)
	}
	n.post(t, "/orders/"+id+"/pay", `{"paymentReference":"a"}`).order(t, "paid")
}

func TestServer_ListOrders(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale, other := n.sale(t, 100, 100), n.sale(t, 100, 100)
	var want []string // newest first
	for i := range int64(5) {
		id, _ := n.orderOf(t, []int64{sale, other}[i%2], "42", i, time.Hour)
		want = append([]string{id}, want...)
	}
	n.orderOf(t, sale, "43", 99, time.Hour)
	n.post(t, "/orders/"+want[1]+"/pay", `{"paymentReference":"a"}`).order(t, "paid")

	type list struct {
		Orders []order
		Next   string
	}
	ids := func(l list) string {
		var ids []string
		for _, o := range l.Orders {
			ids = append(ids, o.OrderID)
		}
		return strings.Join(ids, " ")
	}
	var all list
	n.get(t, "/orders?userId=42").is(t, 200).into(t, &all)
	if ids(all) != strings.Join(want, " ") || all.Next != "" || all.Orders[1].Status != "paid" {
		t.Errorf("got %+v, want %v and no more", all, want)
	}
	var pages []string
	cursor := ""
	for range 3 {
		var page list
		n.get(t, "/orders?userId=42&limit=2&cursor="+cursor).is(t, 200).into(t, &page)
		pages = append(pages, ids(page))
		cursor = page.Next
		if cursor == "" {
			break
		}
	}
	if got := strings.Join(pages, " "); got != strings.Join(want, " ") || len(pages) != 3 || cursor != "" {
		t.Errorf("in pages: got %q and then %q, want %v", pages, cursor, want)
	}
	if a := n.get(t, "/orders?userId=nobody").is(t, 200); string(a.body) != `{"orders":[]}`+"\n" {
		t.Errorf("of nobody: got %s", a.body)
	}
}

func TestServer_Lists_BadInput(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 100, 100)
	for i := range int64(3) {
		n.orderOf(t, sale, "42", i, time.Hour)
	}
	cursorOf := func(path string) string {
		next, _ := n.get(t, path+"&limit=1").is(t, 200).fields(t)["next"].(string)
		if next == "" {
			t.Fatalf("%s has no next", path)
		}
		return next
	}
	orders, purchases := "/orders?userId=42", fmt.Sprintf("/purchases?userId=42&saleId=%d", sale)
	ordersNext, purchasesNext := cursorOf(orders), cursorOf(purchases)
	forged := "A" + ordersNext[1:]
	if ordersNext[0] == 'A' {
		forged = "B" + ordersNext[1:]
	}
	for name, test := range map[string]struct{ path, code, location string }{
		"OrdersOfNobody":       {"/orders", "user_required", ""},
		"OrdersOfEmpty":        {"/orders?userId=", "user_required", ""},
		"OrdersOfControl":      {"/orders?userId=a%00", "invalid_request", "query.userId"},
		"OrdersOfNotUTF8":      {"/orders?userId=%ff", "invalid_request", "query.userId"},
		"OrdersOfTooLong":      {"/orders?userId=" + strings.Repeat("a", 65), "invalid_request", "query.userId"},
		"OrdersLimitZero":      {orders + "&limit=0", "invalid_request", "query.limit"},
		"OrdersLimitLarge":     {orders + "&limit=101", "invalid_request", "query.limit"},
		"OrdersLimitText":      {orders + "&limit=many", "invalid_request", "query.limit"},
		"CursorText":           {orders + "&cursor=abc", "invalid_request", "query.cursor"},
		"CursorNotBase64":      {orders + "&cursor=%00", "invalid_request", "query.cursor"},
		"CursorForged":         {orders + "&cursor=" + forged, "invalid_request", "query.cursor"},
		"CursorCutOff":         {orders + "&cursor=" + ordersNext[:len(ordersNext)-4], "invalid_request", "query.cursor"},
		"CursorOfAnotherUser":  {"/orders?userId=43&cursor=" + ordersNext, "invalid_request", "query.cursor"},
		"CursorOfAnotherList":  {orders + "&cursor=" + purchasesNext, "invalid_request", "query.cursor"},
		"CursorOfAnotherSale":  {fmt.Sprintf("/purchases?userId=42&saleId=%d&cursor=%s", sale+1, purchasesNext), "invalid_request", "query.cursor"},
		"PurchasesOfNobody":    {fmt.Sprintf("/purchases?saleId=%d", sale), "user_required", ""},
		"PurchasesOfNoSale":    {"/purchases?userId=42", "invalid_request", "query.saleId"},
		"PurchasesSaleZero":    {"/purchases?userId=42&saleId=0", "invalid_request", "query.saleId"},
		"PurchasesSaleText":    {"/purchases?userId=42&saleId=x", "invalid_request", "query.saleId"},
		"PurchasesSaleTooBig":  {"/purchases?userId=42&saleId=9223372036854775808", "invalid_request", "query.saleId"},
		"PurchasesUserControl": {fmt.Sprintf("/purchases?userId=%%0a&saleId=%d", sale), "invalid_request", "query.userId"},
	} {
		t.Run(name, func(t *testing.T) {
			p := n.get(t, test.path).problem(t, 422, test.code)
			if test.location != "" {
				p.at(t, test.location)
			}
		})
	}
}

// Whoever lost the 202 finds the request: undecided, won, lost, and long after its
// result is gone.
func TestServer_ListPurchases(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 100, 100)
	_, won := n.orderOf(t, sale, "42", 1, time.Hour)
	lost := n.buy(t, sale, by("42")).RequestID
	n.decide(t, uuid.MustParse(lost), domain.PurchaseRejected{Reason: domain.ReasonSoldOut})
	undecided := n.buy(t, sale, by("42")).RequestID
	n.buy(t, sale, by("43"))
	n.buy(t, n.sale(t, 10, 10), by("42"))
	n.exec(t, "delete from purchase_results")

	path := fmt.Sprintf("/purchases?userId=42&saleId=%d", sale)
	type list struct {
		Purchases []purchase
		Next      string
	}
	var all list
	n.get(t, path, "Accept-Language: zh-CN").is(t, 200).into(t, &all)
	if len(all.Purchases) != 3 || all.Next != "" {
		t.Fatalf("got %+v, want three and no more", all)
	}
	for i, want := range []struct{ id, status, message string }{
		{undecided, "processing", "正在抢购中，请稍候"},
		{lost, "failed", "手慢了，商品已抢完"},
		{won, "succeeded", "抢购成功，请尽快付款"},
	} {
		if got := all.Purchases[i]; got.RequestID != want.id || got.Status != want.status || got.Message != want.message || got.UserID != "42" || got.SaleID != sale {
			t.Errorf("at %d: got %+v, want %+v", i, got, want)
		}
	}
	var first, rest list
	n.get(t, path+"&limit=1").is(t, 200).into(t, &first)
	n.get(t, path+"&limit=2&cursor="+first.Next).is(t, 200).into(t, &rest)
	if len(first.Purchases) != 1 || len(rest.Purchases) != 2 || first.Purchases[0].RequestID != undecided || rest.Purchases[1].RequestID != won || rest.Next != "" {
		t.Errorf("in pages: got %+v and %+v", first, rest)
	}
	if a := n.get(t, "/purchases?userId=42&saleId=999999").is(t, 200); string(a.body) != `{"purchases":[]}`+"\n" {
		t.Errorf("of no sale: got %s", a.body)
	}
}

func TestServer_History(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 100, 100)
	id, request := n.orderOf(t, sale, "42", 1, time.Hour)
	n.post(t, "/orders/"+id+"/pay", `{"paymentReference":"pay-1"}`).order(t, "paid")
	n.post(t, "/orders/"+id+"/refund", `{"paymentReference":"refund-1"}`).order(t, "refunded")

	type history struct {
		RequestID string
		Events    []struct {
			Type, Text string
			At         time.Time
			Version    int
		}
	}
	read := func(language string) history {
		var h history
		a := n.get(t, "/purchases/"+request+"/history", "Accept-Language: "+language).is(t, 200)
		a.into(t, &h)
		if got := a.header.Get("Vary"); got != "Accept-Language" {
			t.Errorf("Vary is %q", got)
		}
		return h
	}
	english, chinese := read("en"), read("zh-CN")
	if english.RequestID != request || len(english.Events) != 4 || len(chinese.Events) != 4 {
		t.Fatalf("got %+v and %+v, want four events", english, chinese)
	}
	for i, want := range []struct{ event, english, chinese string }{
		{"PurchaseRequested", "User 42 asked for 1", "用户 42 抢购 1 件"},
		{"PurchaseConfirmed", "order " + id, "订单 " + id},
		{"OrderPaid", "pay-1", "pay-1"},
		{"OrderRefunded", "refund-1, 1 for sale again", "refund-1，1 件重新开售"},
	} {
		e, c := english.Events[i], chinese.Events[i]
		if e.Type != want.event || e.Version != i+1 || !strings.Contains(e.Text, want.english) || !strings.Contains(c.Text, want.chinese) || e.Text == c.Text {
			t.Errorf("got %+v and %+v, want %+v", e, c, want)
		}
		if i > 0 && e.At.Before(english.Events[i-1].At) {
			t.Errorf("the events are at %+v, want the oldest first", english.Events)
		}
	}
	for name, unknown := range map[string]string{"Unknown": uuid.NewString(), "Malformed": "42", "Forged": "refused-x"} {
		t.Run(name, func(t *testing.T) {
			n.get(t, "/purchases/"+unknown+"/history").problem(t, 404, "request_not_found")
		})
	}
}

// A pushed or polled result stays a success, whatever becomes of its order.
func TestServer_ResultAfterCancel(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	sale := n.sale(t, 1, 1)
	won := n.result(t, n.buy(t, sale, by("42")).RequestID)
	n.post(t, "/orders/"+won.OrderID+"/cancel", `{"userId":"42"}`).order(t, "cancelled")
	if got := n.result(t, won.RequestID); got.Status != "succeeded" || got.OrderID != won.OrderID {
		t.Errorf("got %+v, want what was won", got)
	}
	var accepted answer
	eventually(t, "the door opens again", func() bool {
		accepted = n.post(t, purchases(sale), by("42"))
		return accepted.status != stdhttp.StatusConflict
	})
	again := n.result(t, accepted.purchase(t, stdhttp.StatusAccepted).RequestID)
	if again.Status != "succeeded" || again.OrderID == won.OrderID {
		t.Errorf("got %+v, want another order of the unit that came back", again)
	}
	if events := value[int](t, n, "select count(*) from events where sale_id = $1 and type like 'Order%'", sale); events != 1 {
		t.Errorf("%d events of orders, want 1", events)
	}
}
