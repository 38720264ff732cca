package acceptance_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/jackc/pgx/v5"
)

// auditReport is what `seckill audit --json` prints.
type auditReport struct {
	Sales       int
	Differences []struct {
		Kind             string
		SaleID           int64
		Key              string
		Expected, Stored json.RawMessage
	}
}

// audit runs the program's audit. Its exit code must say whether anything differs.
func (s *service) audit(t *testing.T) auditReport {
	t.Helper()
	var output, trouble bytes.Buffer
	command := exec.CommandContext(t.Context(), programPath(t), "audit", "--json")
	command.Env = append(os.Environ(), "DATABASE_URL="+byRole(t, s.database.URL(), "shop"))
	command.Stdout, command.Stderr = &output, &trouble
	err := command.Run()
	code := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	var report auditReport
	if err := json.Unmarshal(output.Bytes(), &report); err != nil {
		t.Fatalf("the audit printed %q, %q: %v", output.String(), trouble.String(), err)
	}
	if want := min(1, len(report.Differences)); code != want {
		t.Errorf("the audit found %d differences and exited with %d, want %d", len(report.Differences), code, want)
	}
	return report
}

// requireCleanAudit fails the test if the audit finds anything.
func (s *service) requireCleanAudit(t *testing.T) {
	t.Helper()
	for _, d := range s.audit(t).Differences {
		t.Errorf("the audit found %s %s of sale %d: expected %s, stored %s", d.Kind, d.Key, d.SaleID, d.Expected, d.Stored)
	}
}

// TestAudit changes rows by hand: the audit must find each change, and only that.
func TestAudit(t *testing.T) {
	s := startService(t, 1)
	n := s.nodes[0]
	sale := s.schedule(t, plan{Stock: 10, PerUserLimit: 2})
	var won []purchase
	for _, user := range []string{"payer", "canceller", "idler"} {
		accepted := s.accept(t, n, order{sale: sale, user: user, quantity: 1})
		won = append(won, s.awaitResult(t, n, accepted.RequestID))
	}
	for command, p := range map[string]purchase{byPay: won[0], byCancel: won[1]} {
		if err := s.command(t.Context(), n, command, p); err != nil {
			t.Fatal(err)
		}
	}
	s.requireCleanAudit(t)
	s.stop(t) // a node would mend some of what follows

	paid, cancelled, idle := won[0], won[1], won[2]
	for _, change := range []struct {
		name, by, undo, kind, key string
	}{
		{"AvailableUnits", "update sales set available = available - 1 where sale_id = %[1]d",
			"update sales set available = available + 1 where sale_id = %[1]d", "sale", fmt.Sprint(sale)},
		{"Stock", "update sales set stock = stock + 1 where sale_id = %[1]d",
			"update sales set stock = stock - 1 where sale_id = %[1]d", "sale", fmt.Sprint(sale)},
		{"Window", "update sales set closes_at = closes_at + interval '1 microsecond' where sale_id = %[1]d",
			"update sales set closes_at = closes_at - interval '1 microsecond' where sale_id = %[1]d", "sale", fmt.Sprint(sale)},
		{"Pause", "update sales set paused_at = array[clock_timestamp()] where sale_id = %[1]d",
			"update sales set paused_at = '{}' where sale_id = %[1]d", "sale", fmt.Sprint(sale)},
		{"SaleOfNoEvent", `insert into sales (sale_id, goods_id, name, price, currency, stock, available, per_user_limit, opens_at, closes_at, payment_timeout_us)
				select 99, goods_id, name, price, currency, stock, stock, per_user_limit, opens_at, closes_at, payment_timeout_us from sales where sale_id = %[1]d`,
			"delete from sales where sale_id = 99", "sale", "99"},
		{"Allowance", "update allowances set quantity = 2 where user_id = 'payer'",
			"update allowances set quantity = 1 where user_id = 'payer'", "allowance", "payer"},
		{"AllowanceOfAnother", "update allowances set user_id = 'thief' where user_id = 'idler'; insert into allowances select sale_id, 'idler', quantity, request_id, order_id from allowances where user_id = 'thief'",
			"delete from allowances where user_id = 'thief'", "allowance", "thief"},
		{"NamedOrder", "update allowances set order_id = '" + *cancelled.OrderID + "' where user_id = 'payer'",
			"update allowances set order_id = '" + *paid.OrderID + "' where user_id = 'payer'", "allowance", "payer"},
		{"OrderStatus", "update orders set status = 'paid' where order_id = '" + *cancelled.OrderID + "'",
			"update orders set status = 'cancelled' where order_id = '" + *cancelled.OrderID + "'", "order", *cancelled.OrderID},
		{"OrderAmount", "update orders set amount = amount + 1 where order_id = '" + *paid.OrderID + "'",
			"update orders set amount = amount - 1 where order_id = '" + *paid.OrderID + "'", "order", *paid.OrderID},
		{"MissingOrder", "create table kept as select * from orders where order_id = '" + *idle.OrderID + "'; delete from orders where order_id = '" + *idle.OrderID + "'",
			"insert into orders select * from kept; drop table kept", "order", *idle.OrderID},
		{"ExtraOrder", "insert into orders select 'XXX-XXX-XXX', version, request_id, sale_id, user_id, quantity, amount, currency, status, pay_by, created_at, paid_at, ended_at from orders where order_id = '" + *paid.OrderID + "'",
			"delete from orders where order_id = 'XXX-XXX-XXX'", "order", "XXX-XXX-XXX"},
		{"Result", "update purchase_results set order_id = '" + *paid.OrderID + "' where request_id = '" + idle.RequestID + "'",
			"update purchase_results set order_id = '" + *idle.OrderID + "' where request_id = '" + idle.RequestID + "'", "result", idle.RequestID},
		{"MissingResult", "create table kept as select * from purchase_results where request_id = '" + idle.RequestID + "'; delete from purchase_results where request_id = '" + idle.RequestID + "'",
			"insert into purchase_results select * from kept; drop table kept", "result", idle.RequestID},
		{"ExtraResult", "insert into purchase_results select gen_random_uuid(), version, sale_id, user_id, quantity, status, reason, order_id, existing_request_id, existing_order_id, pay_by, accepted_at, decided_at from purchase_results where request_id = '" + idle.RequestID + "'",
			"delete from purchase_results where order_id = '" + *idle.OrderID + "' and request_id <> '" + idle.RequestID + "'", "result", ""},
		{"GapInAStream", `insert into events (stream_id, version, transaction_id, sale_id, type, data)
				values ('` + idle.RequestID + `', 4, current_transaction_id(), %[1]d, 'OrderNoted', '{}')`,
			"set session_replication_role = replica; delete from events where type = 'OrderNoted'; reset session_replication_role", "stream", idle.RequestID},
		{"Undecided", `insert into events (stream_id, version, transaction_id, sale_id, type, data, recorded_at)
				values ('01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f', 1, 1, %[1]d, 'PurchaseRequested', '{"userId": "lost", "quantity": 1}', clock_timestamp() - interval '2 minutes')`,
			"set session_replication_role = replica; delete from events where data->>'userId' = 'lost'; reset session_replication_role", "stream", "01938c5e-7a3b-7c21-9f4e-2b6d8a1c3e5f"},
	} {
		t.Run(change.name, func(t *testing.T) {
			s.byHand(t, change.by, sale)
			found := s.audit(t).Differences
			if len(found) != 1 || found[0].Kind != change.kind || change.key != "" && found[0].Key != change.key {
				t.Errorf("the audit found %+v, want %s %s", found, change.kind, change.key)
			}
			s.byHand(t, change.undo, sale)
		})
	}
	s.requireCleanAudit(t)
}

// byHand executes statements as one would with psql.
func (s *service) byHand(t *testing.T, statements string, sale int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.database.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if bytes.Contains([]byte(statements), []byte("%[1]d")) {
		statements = fmt.Sprintf(statements, sale)
	}
	if _, err := conn.PgConn().Exec(t.Context(), statements).ReadAll(); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}
