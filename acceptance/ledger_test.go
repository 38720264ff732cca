package acceptance_test

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"time"
)

// order is what a buyer wants.
type order struct {
	sale     int64
	user     string
	quantity int64
	key      string // Idempotency-Key, or ""
}

// telling is one answer or push that shows a purchase.
type telling struct {
	purchase

	asked  string // the request ID that was asked for; "" for a POST
	how    string
	key    string // of the POST
	node   string
	sentAt time.Time
	toldAt time.Time
}

// refusal is a purchase that was refused for good.
type refusal struct {
	order

	code   string
	sentAt time.Time
	toldAt time.Time
}

// notFound is a request that a node did not know of.
type notFound struct {
	asked  string
	node   string
	toldAt time.Time
}

// disturbance is a time in which a node could not do its work.
type disturbance struct {
	node  string
	since time.Time
	until time.Time
}

// ledger keeps what the buyers sent and what they were told.
type ledger struct {
	mu           sync.Mutex
	commanded    []commanded
	disturbances []disturbance
	notFound     []notFound
	refusals     []refusal
	sent         []order // one for each POST
	tellings     []telling
	troubles     map[trouble]int // failed calls that a buyer has to live with
	unanswered   []string        // requests whose buyers waited in vain
	wrong        map[string]int  // what no node may ever answer
}

func newLedger() *ledger {
	return &ledger{troubles: make(map[trouble]int), wrong: make(map[string]int)}
}

func (l *ledger) addSent(o order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, o)
}

func (l *ledger) addTelling(t telling) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tellings = append(l.tellings, t)
}

func (l *ledger) addCommanded(c commanded) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commanded = append(l.commanded, c)
}

func (l *ledger) addRefusal(r refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusals = append(l.refusals, r)
}

func (l *ledger) addDisturbance(d disturbance) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.disturbances = append(l.disturbances, d)
}

func (l *ledger) addNotFound(n notFound) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notFound = append(l.notFound, n)
}

func (l *ledger) addUnanswered(requestID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unanswered = append(l.unanswered, requestID)
}

// judge fails the test for answers that are wrong by themselves and for buyers who
// were never told. Whether the others are true is for the rules to say.
func (l *ledger) judge(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	wrong := slices.Sorted(maps.Keys(l.wrong))
	for _, text := range wrong[:min(len(wrong), shownRows)] {
		t.Errorf("%d × %s (%d such answers)", l.wrong[text], text, len(wrong))
	}
	if len(l.unanswered) > 0 {
		t.Errorf("%d buyers were never told what became of their requests, the first of %s", len(l.unanswered), l.unanswered[0])
	}
	t.Logf("%d POSTs, %d answers and pushes, %d refusals at the door", len(l.sent), len(l.tellings), len(l.refusals))
	answers := make(map[string]int)
	for _, c := range l.commanded {
		answers[c.command+" → "+c.answer]++
	}
	t.Logf("commands on orders: %v", answers)
	for met, times := range l.troubles {
		t.Logf("%4d × %s of a %s at node %s", times, met.kind, met.how, met.node)
	}
}

// toldBySSE reports whether a node has pushed anything about a request.
func (l *ledger) toldBySSE(node, requestID string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.tellings, func(t telling) bool {
		return t.how == bySSE && t.node == node && t.asked == requestID
	})
}

// accepted is the requests for which some buyer has got a 202.
func (l *ledger) accepted() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := make(map[string]bool)
	for _, t := range l.tellings {
		if t.how == byPost {
			ids[t.RequestID] = true
		}
	}
	return ids
}

// refusalsByCode counts the purchases of a sale that were refused at the door.
func (l *ledger) refusalsByCode(saleID int64) map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := make(map[string]int)
	for _, r := range l.refusals {
		if r.sale == saleID {
			counts[r.code]++
		}
	}
	return counts
}
