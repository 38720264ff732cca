package http_test

import (
	"context"
	"errors"
	"fmt"
	stdhttp "net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/http"
	"seckill/projections"
)

func saleEvents(id int64) string { return fmt.Sprintf("/sales/%d/events", id) }

// sale reads the sale of an event.
func (e event) sale(t *testing.T) sale {
	t.Helper()
	if e["event"] != "sale" {
		t.Fatalf("got %v, want a sale", e)
	}
	var s sale
	answer{body: []byte(e["data"])}.into(t, &s)
	if e["id"] != fmt.Sprint(s.Revision) {
		t.Errorf("the id is %q, want the revision %d", e["id"], s.Revision)
	}
	return s
}

// awaitSale reads a stream on until the sale is as wanted.
func (s *stream) awaitSale(t *testing.T, what string, wanted func(sale) bool) sale {
	t.Helper()
	for {
		e, ok := s.next()
		if !ok {
			t.Fatalf("the stream ended before the sale was %s", what)
		}
		if e["event"] != "sale" {
			continue
		}
		if got := e.sale(t); wanted(got) {
			return got
		}
	}
}

func is(status string) func(sale) bool { return func(s sale) bool { return s.Status == status } }

// What is sold, changed and closed is seen as it happens, until the end.
func TestServer_FollowSale(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	id := n.sale(t, 10, 3)
	s := n.openStream(t.Context(), t, saleEvents(id))
	if got := s.header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("its type is %q", got)
	}
	first := s.awaitSale(t, "shown", is("open"))
	if diff := cmp.Diff(n.getSale(t, id), first, cmpopts.IgnoreFields(sale{}, "ServerTime")); diff != "" {
		t.Errorf("it is another than read (-read +pushed):\n%s", diff)
	}
	n.result(t, n.buy(t, id, `{"userId":"Ann","quantity":3}`).RequestID)
	s.awaitSale(t, "bought from", func(s sale) bool { return s.Available == 7 })
	n.stock(t, id, "-7").is(t, 200)
	s.awaitSale(t, "sold out", is("sold_out"))
	n.command(t, id, "pause").is(t, 200)
	s.awaitSale(t, "paused", is("paused"))
	n.command(t, id, "close").is(t, 200)
	closed := s.awaitSale(t, "closed", is("closed"))
	if e, ok := s.next(); ok {
		t.Errorf("the stream goes on with %v", e)
	}
	eventually(t, "nobody watches", func() bool { return n.saleHub.Watched() == 0 })

	for seen, again := range map[string]bool{
		"":                                  true,
		"abc":                               true,
		"-1":                                true,
		fmt.Sprint(closed.Revision - 1):     true,
		fmt.Sprint(closed.Revision):         false,
		fmt.Sprint(closed.Revision + 1):     false,
		"9223372036854775807":               false,
		"9223372036854775808":               true, // no number of ours
		" " + fmt.Sprint(closed.Revision+1): false,
	} {
		t.Run(seen, func(t *testing.T) {
			a := n.get(t, saleEvents(id), "Last-Event-ID: "+seen)
			if !again {
				a.is(t, stdhttp.StatusNoContent)
			} else if a.is(t, stdhttp.StatusOK); strings.Count(string(a.body), "event: sale") != 1 {
				t.Errorf("got %s, want the closed state again", a.body)
			}
		})
	}
}

// The window opens and closes without a command or a purchase.
func TestServer_FollowSale_Window(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	opens := time.Now().Add(time.Second)
	id := n.schedule(t, domain.SaleScheduled{Stock: 10, OpensAt: opens, ClosesAt: opens.Add(time.Second)})
	s := n.openStream(t.Context(), t, saleEvents(id))
	s.awaitSale(t, "scheduled", is("scheduled"))
	for _, status := range []string{"open", "closed"} {
		got := s.awaitSale(t, status, is(status))
		since := got.OpensAt
		if status == "closed" {
			since = got.ClosesAt
		}
		if late := got.ServerTime.Sub(since); late < 0 || late > 2*time.Second {
			t.Errorf("%s came %s after it was so", status, late)
		}
	}
	if e, ok := s.next(); ok {
		t.Errorf("the stream goes on with %v", e)
	}
}

func TestServer_FollowSale_Unknown(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	for _, id := range []string{"999", "0", "-1", "abc", "9223372036854775808", "%00"} {
		n.get(t, "/sales/"+id+"/events").problem(t, 404, "sale_not_found")
	}
	if got := n.saleHub.Watched(); got != 0 {
		t.Errorf("%d sales are watched that do not exist", got)
	}
}

// shelf is sales in memory that a hub reads.
type shelf struct {
	mu     sync.Mutex
	broken bool
	reads  int
	sales  map[int64]projections.Sale
}

func (s *shelf) read(_ context.Context, ids []int64) ([]projections.Sale, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if s.broken {
		return nil, errors.New("broken")
	}
	var found []projections.Sale
	for _, id := range ids {
		if sale, ok := s.sales[id]; ok {
			sale.ServerTime = time.Now()
			found = append(found, sale)
		}
	}
	return found, nil
}

// readSince is how often was read since the last call.
func (s *shelf) readSince() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.reads
	s.reads = 0
	return n
}

// change changes a sale and returns what is heard of it.
func (s *shelf) change(id int64, change func(*projections.Sale)) []eventstore.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	sale := s.sales[id]
	change(&sale)
	sale.Revision++
	s.sales[id] = sale
	return []eventstore.Event{{SaleID: id, Version: 2, Data: domain.PurchaseConfirmed{}}}
}

// shelfNode is the edge of a node whose sales are in memory, for a synctest bubble.
type shelfNode struct {
	*client

	goods *shelf
	hub   *http.SaleHub
}

// startShelf serves two sales that are on, until the test ends.
func startShelf(t *testing.T) shelfNode {
	t.Helper()
	goods := &shelf{sales: make(map[int64]projections.Sale)}
	for _, id := range []int64{1001, 1002} {
		goods.sales[id] = projections.Sale{Revision: 1, Sale: domain.Sale{
			ID: id, Stock: 1000, Available: 1000, OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(24 * time.Hour),
		}}
	}
	hub := http.NewSaleHubOf(goods.read, quiet())
	purchases := http.NewHub(nil, projections.NewPurchases(eventstore.New()), http.NewMetrics(prometheus.NewRegistry()), quiet())
	server, err := http.NewServer(http.Config{Hub: purchases, SaleHub: hub, Logger: quiet(), Secret: secret, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	listener := newMemoryListener()
	serveOn(t, server, listener)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { hub.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	return shelfNode{client: newClient(t, server, "http://memory", listener.dial), goods: goods, hub: hub}
}

func sellOne(sale *projections.Sale) { sale.Available-- }

// A sale that changes hundreds of times a second is told four times a second, the
// latest state each time, and is read as often, however many watch.
func TestSaleHub_Conflates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := startShelf(t)
		const watchers = 20
		streams := make([]*stream, watchers)
		for i := range streams {
			streams[i] = n.openStream(t.Context(), t, saleEvents(1001))
			streams[i].awaitSale(t, "shown", is("open"))
		}
		if got := n.goods.readSince(); got != 1 {
			t.Errorf("%d reads for %d who came, want 1", got, watchers)
		}
		told := make([]int, watchers)
		var reading sync.WaitGroup
		for i, s := range streams {
			reading.Go(func() {
				for {
					e, ok := s.next()
					if !ok {
						t.Error("the stream ended")
						return
					}
					told[i]++
					if e.sale(t).Available == 600 {
						return
					}
				}
			})
		}
		for range 400 {
			n.hub.Committed(n.goods.change(1001, sellOne))
			time.Sleep(5 * time.Millisecond)
		}
		reading.Wait()
		for i, times := range told {
			if times < 7 || times > 9 {
				t.Errorf("watcher %d was told %d times in 2 s, want 8", i, times)
			}
		}
		if got := n.goods.readSince(); got < 7 || got > 9 {
			t.Errorf("%d reads in 2 s, want 8", got)
		}
	})
}

// Nothing is read while nothing changes, and nothing once nobody watches.
func TestSaleHub_ReadsOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := startShelf(t)
		ctx, leave := context.WithCancel(t.Context())
		s := n.openStream(ctx, t, saleEvents(1001))
		s.awaitSale(t, "shown", is("open"))
		n.goods.readSince()
		time.Sleep(14 * time.Second)
		n.hub.Committed(n.goods.change(1002, sellOne))
		time.Sleep(500 * time.Millisecond)
		if got := n.goods.readSince(); got != 0 {
			t.Errorf("%d reads without a change", got)
		}
		if e, ok := s.next(); !ok || e[""] != "alive" {
			t.Errorf("got %v, want a sign of life", e)
		}
		n.goods.change(1001, sellOne) // and nobody hears of it
		if got := s.awaitSale(t, "looked for", func(s sale) bool { return s.Available == 999 }); got.Revision != 2 {
			t.Errorf("got %+v", got)
		}
		leave()
		synctest.Wait()
		if got := n.hub.Watched(); got != 0 {
			t.Errorf("%d sales are watched after all have left", got)
		}
		n.goods.readSince()
		n.hub.Committed(n.goods.change(1001, sellOne))
		n.hub.Connected()
		time.Sleep(time.Minute)
		if got := n.goods.readSince(); got != 0 {
			t.Errorf("%d reads for nobody", got)
		}
	})
}

// While the database does not answer the watchers wait; then they see what is so.
func TestSaleHub_DatabaseAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := startShelf(t)
		s := n.openStream(t.Context(), t, saleEvents(1001))
		s.awaitSale(t, "shown", is("open"))
		breaks := func(broken bool) {
			n.goods.mu.Lock()
			defer n.goods.mu.Unlock()
			n.goods.broken = broken
		}
		breaks(true)
		n.hub.Committed(n.goods.change(1001, sellOne))
		began := time.Now()
		n.get(t, saleEvents(1002)).problem(t, 503, "unavailable")
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("refused after %s, want 5s", took)
		}
		breaks(false)
		s.awaitSale(t, "read again", func(s sale) bool { return s.Available == 999 })
	})
}

// Who comes later is told at once, without another read, and by the time as it is.
func TestSaleHub_SecondWatcher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := startShelf(t)
		first := n.openStream(t.Context(), t, saleEvents(1001)).awaitSale(t, "shown", is("open"))
		n.goods.readSince()
		time.Sleep(10 * time.Second)
		second := n.openStream(t.Context(), t, saleEvents(1001)).awaitSale(t, "shown", is("open"))
		if got := n.goods.readSince(); got != 0 {
			t.Errorf("%d reads for the second", got)
		}
		if later := second.ServerTime.Sub(first.ServerTime); later != 10*time.Second {
			t.Errorf("its time is %s later, want 10s", later)
		}
	})
}
