package http_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

type feed struct {
	Events []struct {
		TransactionID, Position int64
		StreamID                string
		Version                 int
		SaleID                  int64
		Type                    string
		Data                    json.RawMessage
		RecordedAt              time.Time
	}
	Next string
}

func (n *node) feed(t *testing.T, after string, limit int, wait string) feed {
	t.Helper()
	var f feed
	n.get(t, fmt.Sprintf("/events?after=%s&limit=%d&wait=%s", url.QueryEscape(after), limit, wait)).is(t, 200).into(t, &f)
	return f
}

// Whoever goes from cursor to cursor sees the whole history once, in its order,
// also over a change of nodes.
func TestServer_ReadFeed(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	other := startNodeOn(t, n.url, nodeConfig{idle: true})
	sale := n.sale(t, 1, 1)
	for _, user := range []string{"Ann", "Ben", "Cai"} {
		if a := n.post(t, purchases(sale), by(user)); a.status == 202 {
			n.result(t, a.purchase(t, 202).RequestID)
		}
	}
	want := value[[]string](t, n, "select array_agg(stream_id::text || version || type order by transaction_id, position) from events where type <> 'PurchasesTurnedAway'")

	var got []string
	var last [2]int64
	cursor, readers := "", []*node{n, other}
	eventually(t, "the whole history is read", func() bool {
		f := readers[len(got)%2].feed(t, cursor, 2, "1s")
		if len(f.Events) > 2 {
			t.Fatalf("%d events, want at most 2", len(f.Events))
		}
		for _, e := range f.Events {
			if place := [2]int64{e.TransactionID, e.Position}; place[0] < last[0] || place[0] == last[0] && place[1] <= last[1] {
				t.Errorf("%v comes after %v", place, last)
			} else {
				last = place
			}
			if e.SaleID != sale || e.RecordedAt.IsZero() || len(e.Data) < 10 {
				t.Errorf("got %+v", e)
			}
			if e.Type != "PurchasesTurnedAway" {
				got = append(got, fmt.Sprint(e.StreamID, e.Version, e.Type))
			}
		}
		cursor = f.Next
		return len(got) >= len(want)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the history (-want +got):\n%s", diff)
	}
	if f := n.feed(t, cursor, 10, "0"); len(f.Events) > 0 && f.Events[0].Type != "PurchasesTurnedAway" || f.Next == "" {
		t.Errorf("at the end it says %+v", f)
	}
}

// A reader that waits is answered soon after the next event, and an event that
// commits late is not passed over (FAULTS 21).
func TestServer_ReadFeed_Waits(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 10, 1)
	var end string
	eventually(t, "the sale is in the feed", func() bool {
		f := n.feed(t, "", 10, "1s")
		end = f.Next
		return len(f.Events) == 1
	})

	late, err := pgx.Connect(t.Context(), n.url)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close(t.Context())
	if _, err := late.Exec(t.Context(), fmt.Sprintf(`begin; insert into events (stream_id, version, transaction_id, sale_id, type, data)
		values (gen_random_uuid(), 1, current_transaction_id(), %d, 'Late', '{"n": 1}')`, sale)); err != nil {
		t.Fatal(err)
	}
	id := n.buy(t, sale, by("42")).RequestID
	if f := n.feed(t, end, 10, "500ms"); len(f.Events) > 0 || f.Next != end {
		t.Errorf("while an earlier transaction is open it says %+v, want nothing", f)
	}
	answered := make(chan feed, 1)
	go func() {
		var f feed
		if a, err := n.try(t.Context(), "GET", "/events?wait=20s&after="+end, ""); err != nil {
			t.Error(err)
		} else if err := json.Unmarshal(a.body, &f); err != nil {
			t.Error(err)
		}
		answered <- f
	}()
	time.Sleep(300 * time.Millisecond)
	if _, err := late.Exec(t.Context(), "commit"); err != nil {
		t.Fatal(err)
	}
	committed := time.Now()
	f := <-answered
	if took := time.Since(committed); took > 5*time.Second {
		t.Errorf("it was answered after %s", took)
	}
	if len(f.Events) == 0 || f.Events[0].Type != "Late" {
		t.Fatalf("got %+v, want the late event first", f)
	}
	if len(f.Events) == 1 {
		f = n.feed(t, f.Next, 10, "5s")
	} else {
		f.Events = f.Events[1:]
	}
	if len(f.Events) != 1 || f.Events[0].StreamID != id {
		t.Errorf("then it says %+v, want the purchase", f)
	}
}

func TestServer_ReadFeed_BadInput(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	for _, cursor := range []string{"x", "1", "1.", ".1", "-1.5", "1.-5", "01.5", "1.5.6", "1e3.5", "99999999999999999999.1", "1.5 ", "١.٥"} {
		n.get(t, "/events?after="+url.QueryEscape(cursor)).problem(t, 422, "invalid_request").at(t, "query.after")
	}
	for _, limit := range []string{"0", "-1", "1001", "x"} {
		n.get(t, "/events?limit="+limit).problem(t, 422, "invalid_request").at(t, "query.limit")
	}
	n.get(t, "/events?wait=soon").problem(t, 422, "invalid_request").at(t, "query.wait")
	if f := n.feed(t, "9223372036854775807.0", 10, "0"); len(f.Events) != 0 {
		t.Errorf("beyond the end it says %+v", f)
	}
}
