package http_test

import (
	"fmt"
	stdhttp "net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/domain"
)

// recheckWithin is how soon a waiter is told of a result of which nobody was
// notified: the hub looks every second.
const recheckWithin = 2 * time.Second

// open opens a long poll and a stream of the same request and returns, once both
// wait, what waits for their ends.
func (n *node) open(t *testing.T, requestID string) (ends func() []purchase) {
	t.Helper()
	polled, pushed := make(chan answer, 1), make(chan answer, 1)
	s := n.follow(t.Context(), t, requestID)
	go func() {
		a, err := n.try(t.Context(), stdhttp.MethodGet, "/purchases/"+requestID+"?wait=30s", "")
		if err != nil {
			t.Error(err)
		}
		polled <- a
	}()
	go func() {
		var last event
		for {
			e, ok := s.next()
			if !ok {
				break
			}
			last = e
		}
		pushed <- answer{status: stdhttp.StatusOK, body: []byte(last["data"])}
	}()
	eventually(t, "both wait", func() bool { return n.hub.Waiters(uuid.MustParse(requestID)) == 2 })
	return func() []purchase {
		return []purchase{(<-polled).purchase(t, stdhttp.StatusOK), (<-pushed).purchase(t, stdhttp.StatusOK)}
	}
}

// A purchase that one node takes in and another decides is told by a third, on
// which its buyer waits.
func TestHub_ThreeNodes(t *testing.T) {
	t.Parallel()
	takes := startIdleNode(t)
	told := startNodeOn(t, takes.url, nodeConfig{idle: true})
	id := takes.buy(t, takes.sale(t, 10, 1), by("42")).RequestID
	ends := told.open(t, id)
	startNodeOn(t, takes.url, nodeConfig{}) // it decides
	for _, p := range ends() {
		if p.Status != "succeeded" || p.RequestID != id {
			t.Errorf("got %+v, want a success", p)
		}
	}
	if p := takes.result(t, id); p.Status != "succeeded" {
		t.Errorf("the node that took it in says %+v", p)
	}
}

// A result whose notice is lost is told all the same, by the hub's own look
// (FAULTS 20).
func TestHub_LostNotice(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 10, 1)
	var ends []func() []purchase
	var ids []string
	for i := range 20 {
		ids = append(ids, n.buy(t, sale, by(fmt.Sprint(i))).RequestID)
		ends = append(ends, n.open(t, ids[i]))
	}
	undecided := n.buy(t, sale, by("last")).RequestID
	for _, id := range ids {
		n.decideSilently(t, uuid.MustParse(id))
	}
	began := time.Now()
	for i, end := range ends {
		for _, p := range end() {
			if p.RequestID != ids[i] || p.Reason != "sold_out" || p.UserID != fmt.Sprint(i) {
				t.Errorf("request %s was told %+v", ids[i], p)
			}
		}
	}
	if took := time.Since(began); took > recheckWithin {
		t.Errorf("it took %s, want at most %s", took, recheckWithin)
	}
	if p := n.get(t, "/purchases/"+undecided).purchase(t, stdhttp.StatusOK); p.Status != "processing" {
		t.Errorf("one that is not decided was told %+v", p)
	}
}

// A poll sees a result of which nobody was notified within the second that the
// hub takes a purchase for undecided.
func TestHub_LostNotice_Poll(t *testing.T) {
	t.Parallel()
	n := startNodeOn(t, startIdleNode(t).url, nodeConfig{deaf: true, idle: true})
	id := n.buy(t, n.sale(t, 10, 1), by("42")).RequestID
	n.decideSilently(t, uuid.MustParse(id))
	began := time.Now()
	eventually(t, "the poll sees it", func() bool { return n.get(t, "/purchases/"+id).purchase(t, stdhttp.StatusOK).Status == "failed" })
	if took := time.Since(began); took > recheckWithin {
		t.Errorf("it took %s, want at most %s", took, recheckWithin)
	}
}

// While the listener's connection is cut again and again, every buyer is told
// within the time of the hub's own look (FAULTS 20).
func TestHub_ListenerIsCut(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	sale := n.sale(t, 1_000, 1)
	stop := make(chan struct{})
	var cutting sync.WaitGroup
	cuts := 0
	cutting.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			var cut int
			err := n.pools.Intake.QueryRow(t.Context(), `select count(*) from (select pg_terminate_backend(pid) from pg_stat_activity
				where datname = current_database() and query like 'listen seckill_events%') cut`).Scan(&cut)
			if err != nil {
				t.Error(err)
				return
			}
			cuts += cut
		}
	})
	var buyers sync.WaitGroup
	for i := range 4 {
		buyers.Go(func() {
			for j := range 3 {
				n.buyAndWait(t, sale, fmt.Sprint(i, "-", j))
			}
		})
	}
	buyers.Wait()
	close(stop)
	cutting.Wait()
	if cuts == 0 {
		t.Error("the listener was never cut")
	}
	eventually(t, "it listens again", func() bool { return n.get(t, "/readyz").status == stdhttp.StatusOK })
}

// buyAndWait buys and checks how long after the decision the long poll was told.
func (n *node) buyAndWait(t *testing.T, saleID int64, user string) {
	t.Helper()
	a, err := n.try(t.Context(), stdhttp.MethodPost, purchases(saleID), by(user), "Content-Type: application/json")
	if err != nil {
		t.Error(err)
		return
	}
	var p purchase
	a.into(t, &p)
	a, err = n.try(t.Context(), stdhttp.MethodGet, p.Links.Self+"?wait=30s", "")
	if err != nil {
		t.Error(err)
		return
	}
	told := time.Now()
	a.into(t, &p)
	if p.Status != "succeeded" {
		t.Errorf("%s got %+v", user, p)
	}
	if late := told.Sub(p.DecidedAt); late > recheckWithin {
		t.Errorf("%s was told %s after the decision, want at most %s", user, late, recheckWithin)
	}
}

// A hundred subscribers of one request, by poll and by stream, are all told the
// same at the decision.
func TestServer_ManySubscribers(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	id := n.buy(t, n.sale(t, 10, 1), by("42")).RequestID
	told := make(chan purchase, 100)
	var subscribers sync.WaitGroup
	for i := range 100 {
		subscribers.Go(func() {
			address := "/purchases/" + id + "?wait=30s"
			if i%2 == 0 {
				address = "/purchases/" + id + "/events"
			}
			a, err := n.try(t.Context(), stdhttp.MethodGet, address, "")
			if err != nil {
				t.Error(err)
				return
			}
			told <- lastOf(t, a)
		})
	}
	eventually(t, "all wait", func() bool { return n.hub.Waiters(uuid.MustParse(id)) == 100 })
	n.decide(t, uuid.MustParse(id), domain.PurchaseConfirmed{OrderID: domain.OrderID(1), Quantity: 1, Currency: "CNY"})
	subscribers.Wait()
	close(told)
	count := 0
	for p := range told {
		count++
		if p.RequestID != id || p.OrderID != domain.OrderID(1) {
			t.Errorf("a subscriber was told %+v", p)
		}
	}
	if count != 100 || n.hub.Waiters(uuid.MustParse(id)) != 0 {
		t.Errorf("%d were told, %d still wait", count, n.hub.Waiters(uuid.MustParse(id)))
	}
}
