package acceptance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/postgres/postgrestest"
)

const (
	// settleWithin is how long the service may take to decide what it has accepted
	// once everything works again.
	settleWithin = 30 * time.Second
	// graceWithin is how long a node may take to stop.
	graceWithin = 12 * time.Second
)

// service is a database and the nodes that serve it.
type service struct {
	*shop

	database *postgrestest.Instance
	db       *pgxpool.Pool // for the test's own eyes
	nodes    []*node
}

// startService starts a database server of the test's own and nodes that are ready.
func startService(t *testing.T, nodes int) *service {
	t.Helper()
	programPath(t) // before there is anything to wait for it
	s := &service{shop: newShop(), database: postgrestest.Server(t)}
	var err error
	if s.db, err = pgxpool.New(t.Context(), s.database.URL()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.db.Close)
	// The nodes have the rights of the service alone, and the owner's for the schema.
	if _, err := s.db.Exec(t.Context(), "create role seckill_service nologin; create role shop login in role seckill_service"); err != nil {
		t.Fatal(err)
	}
	for i := range nodes {
		s.nodes = append(s.nodes, startNode(t, string(rune('A'+i)), byRole(t, s.database.URL(), "shop"), "SECKILL_MIGRATE_URL="+s.database.URL()))
	}
	t.Cleanup(s.client.CloseIdleConnections)
	s.awaitReady(t)
	rotate(t, s.client, s.nodes)
	return s
}

// byRole is a database's address for another role.
func byRole(t *testing.T, address, role string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	parsed.User = url.User(role)
	return parsed.String()
}

func (s *service) awaitReady(t *testing.T) {
	t.Helper()
	for _, n := range s.nodes {
		n.awaitReady(t, s.client)
	}
}

// schedule schedules a sale and returns its ID.
func (s *service) schedule(t *testing.T, p plan) int64 {
	t.Helper()
	if p.ClosesAt.IsZero() {
		p.ClosesAt = time.Now().Add(time.Hour)
	}
	p.Price = 1999
	if p.PaymentTimeout == "" {
		p.PaymentTimeout = "15m"
	}
	body, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.nodes[0].url("/sales"), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	var created struct {
		SaleID int64 `json:"saleId"`
	}
	if err := s.call(request, http.StatusCreated, &created); err != nil {
		t.Fatalf("schedule a sale: %v", err)
	}
	return created.SaleID
}

// accept sends a purchase that a node has to accept.
func (s *service) accept(t *testing.T, n *node, o order) purchase {
	t.Helper()
	accepted, err := s.buy(t.Context(), n, o)
	if err != nil {
		t.Fatalf("node %s does not accept a purchase: %v", n.name, err)
	}
	return accepted
}

// settle waits until every request is decided, no order is overdue and no job is left
// that decides.
func (s *service) settle(t *testing.T) {
	t.Helper()
	begun := time.Now()
	var undecided, overdue, jobs int
	settled := becomes(settleWithin, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := s.db.QueryRow(ctx, `
			select
				(select count(*) from events r where type = 'PurchaseRequested' and not exists (
					select from events o where o.stream_id = r.stream_id and o.version = 2)),
				(select count(*) from events c where type = 'PurchaseConfirmed' and (data->>'payBy')::timestamptz < clock_timestamp() and not exists (
					select from events o where o.stream_id = c.stream_id and o.version = 3)),
				(select count(*) from river_job where kind = 'decide' and state <> 'completed')`).Scan(&undecided, &overdue, &jobs)
		return err == nil && undecided+overdue+jobs == 0
	})
	if !settled {
		t.Errorf("not settled within %s: %d requests are undecided, %d orders are overdue, %d jobs are left", settleWithin, undecided, overdue, jobs)
		return
	}
	t.Logf("settled after %s", time.Since(begun).Round(time.Millisecond))
}

// stop asks all nodes to stop and waits until they have.
func (s *service) stop(t *testing.T) {
	t.Helper()
	for _, n := range s.nodes {
		n.terminate(t)
	}
	for _, n := range s.nodes {
		n.awaitExit(t, graceWithin)
	}
}

// conclude ends a test: what was accepted must get decided, the nodes must stop
// well, and all rules must hold.
func (s *service) conclude(t *testing.T) {
	t.Helper()
	s.awaitReady(t)
	s.settle(t)
	s.stop(t)
	s.ledger.judge(t)
	s.ledger.logLateness(t)
	checkRules(t, s.db, s.ledger)
	s.requireCleanAudit(t)
}

// otherThan is a node that is not the given one.
func (s *service) otherThan(n *node) *node {
	for _, other := range s.nodes {
		if other != n {
			return other
		}
	}
	return nil
}
