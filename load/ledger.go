package load

import (
	"cmp"
	"sync"
)

// order is what a buyer asks for.
type order struct {
	sale     int64
	user     string
	quantity int
}

// entry is one accepted request and what its buyer was told. It costs some 300
// bytes for the whole run.
type entry struct {
	order
	self    string // the link to read it by
	status  string // empty until told
	reason  string
	orderID string
}

func (e *entry) confirmed() bool { return e.status == statusSucceeded }

// door counts, for one sale, what has no request ID.
type door struct {
	soldOut  int   // refusals for want of stock
	smallest int   // quantity among them
	unknown  int64 // units asked for by requests that had no clear answer
}

// ledger keeps what buyers were told, to hold it against the service afterwards.
// Contradictions are noticed as they are told.
type ledger struct {
	mu       sync.Mutex
	requests map[string]*entry
	doors    map[int64]*door
	breaches map[RuleName]*breach
}

func newLedger() *ledger {
	return &ledger{
		requests: make(map[string]*entry),
		doors:    make(map[int64]*door),
		breaches: make(map[RuleName]*breach),
	}
}

// accepted enters a request that was answered with a 202.
func (l *ledger) accepted(o order, p purchase) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if other, taken := l.requests[p.RequestID]; taken {
		l.breach(RuleOwnResult, "request %s was handed to user %s and to user %s", p.RequestID, other.user, o.user)
		return
	}
	l.requests[p.RequestID] = &entry{order: o, self: p.Links.Self}
}

// told enters the result of an accepted request, and reports whether it is the
// first one.
func (l *ledger) told(requestID string, p purchase) (first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.requests[requestID]
	if !l.owns(requestID, e, p) {
		return false
	}
	if e.status == "" {
		e.status, e.reason, e.orderID = p.Status, p.Reason, p.OrderID
		return true
	}
	if !e.same(p) {
		l.breach(RuleOneResult, "request %s was told %s, then %s", requestID, e.describe(), describe(p))
	}
	return false
}

// reread compares a later reading of a request with what its buyer was told.
func (l *ledger) reread(requestID string, p purchase) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.requests[requestID]
	if l.owns(requestID, e, p) && !e.same(p) {
		l.breach(RuleSameAgain, "request %s was told %s, and reads %s", requestID, e.describe(), describe(p))
	}
}

// owns reports whether a body is about the request it was given for. The caller
// holds the lock.
func (l *ledger) owns(requestID string, e *entry, p purchase) bool {
	if p.RequestID != requestID ||
		p.UserID != "" && p.UserID != e.user ||
		p.SaleID != 0 && p.SaleID != e.sale {
		l.breach(RuleOwnResult, "request %s of user %s in sale %d was told of request %s of user %s in sale %d",
			requestID, e.user, e.sale, p.RequestID, p.UserID, p.SaleID)
		return false
	}
	return true
}

// twins compares the answers to one Idempotency-Key.
func (l *ledger) twins(key string, one, other purchase) {
	if one.RequestID == other.RequestID {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.breach(RuleOneRequest, "key %s made requests %s and %s", key, one.RequestID, other.RequestID)
}

// soldOut enters a refusal at the door for want of stock.
func (l *ledger) soldOut(o order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.door(o.sale)
	if d.soldOut == 0 || o.quantity < d.smallest {
		d.smallest = o.quantity
	}
	d.soldOut++
}

// unanswered enters a request that may or may not have been accepted.
func (l *ledger) unanswered(o order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.door(o.sale).unknown += int64(o.quantity)
}

func (l *ledger) door(saleID int64) *door {
	d, ok := l.doors[saleID]
	if !ok {
		d = &door{}
		l.doors[saleID] = d
	}
	return d
}

// sample returns the IDs and links of some of the requests whose buyers were
// told, spread over the whole run. Map order makes the choice.
func (l *ledger) sample(n int) map[string]string {
	return l.pick(n, func(e *entry) bool { return e.status != "" })
}

// untold returns the IDs and links of the requests whose buyers were not told.
func (l *ledger) untold() map[string]string {
	return l.pick(-1, func(e *entry) bool { return e.status == "" })
}

func (l *ledger) pick(n int, want func(*entry) bool) map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	picked := make(map[string]string)
	for requestID, e := range l.requests {
		if len(picked) == n {
			break
		}
		if want(e) {
			picked[requestID] = e.self
		}
	}
	return picked
}

// same reports whether a body says what the entry's buyer was told.
func (e *entry) same(p purchase) bool {
	return e.status == p.Status && e.reason == p.Reason && e.orderID == p.OrderID
}

func (e *entry) describe() string {
	return cmp.Or(e.status, "nothing") + " " + cmp.Or(e.reason, e.orderID)
}

func describe(p purchase) string {
	return cmp.Or(p.Status, "nothing") + " " + cmp.Or(p.Reason, p.OrderID)
}
