package http_test

import (
	"encoding/json"
	"fmt"
	stdhttp "net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// figures are what has become of a sale's purchases so far.
type figures struct{ Pending, Confirmed, Paid, TurnedAway int64 }

// activity is what happened in a sale, second by second.
type activity struct {
	Seconds []struct {
		Second                                    time.Time
		Requests, Confirmed, Rejected, TurnedAway int64
	}
	ServerTime time.Time
}

// A sale's figures and its activity follow what happens.
func TestServer_FiguresAndActivity(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	sale := n.sale(t, 9, 1)
	read := func() (got struct{ Figures figures }) {
		t.Helper()
		a := n.get(t, fmt.Sprintf("/sales/%d", sale))
		if err := json.Unmarshal(a.body, &got); err != nil || a.status != stdhttp.StatusOK {
			t.Fatalf("%d %s: %v", a.status, a.body, err)
		}
		return got
	}
	await := func(want figures) {
		t.Helper()
		for deadline := time.Now().Add(soon); ; time.Sleep(20 * time.Millisecond) {
			got := read().Figures
			if got == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the figures (-want +got):\n%s", cmp.Diff(want, got))
			}
		}
	}
	await(figures{}) // of a sale that nothing has happened in

	var orders []string
	for i := range 3 {
		orders = append(orders, n.result(t, n.buy(t, sale, by(fmt.Sprint(i))).RequestID).OrderID)
	}
	for _, order := range orders[:2] {
		n.post(t, "/orders/"+order+"/pay", `{"paymentReference":"`+order+`"}`)
	}
	n.post(t, "/orders/"+orders[0]+"/refund", `{"paymentReference":"back","restock":false}`)
	n.result(t, n.buy(t, sale, by("2")).RequestID) // who has one
	await(figures{Confirmed: 3, Paid: 1})

	eventually(t, "the activity tells of all four requests", func() bool {
		a := n.get(t, fmt.Sprintf("/sales/%d/activity?seconds=60", sale))
		var got activity
		if err := json.Unmarshal(a.body, &got); err != nil || a.status != stdhttp.StatusOK {
			t.Fatalf("%d %s: %v", a.status, a.body, err)
		}
		var requests, confirmed, rejected int64
		for i, second := range got.Seconds {
			requests, confirmed, rejected = requests+second.Requests, confirmed+second.Confirmed, rejected+second.Rejected
			if second.Second.After(got.ServerTime) || time.Since(second.Second) > time.Minute || i > 0 && !second.Second.After(got.Seconds[i-1].Second) {
				t.Errorf("second %d is %s, read at %s", i, second.Second, got.ServerTime)
			}
		}
		return requests == 4 && confirmed == 3 && rejected == 1
	})
	n.get(t, "/sales/987654/activity").problem(t, 404, "sale_not_found")
	n.get(t, fmt.Sprintf("/sales/%d/activity?seconds=0", sale)).problem(t, 422, "invalid_request")
}
