package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"seckill/migrations"
	"seckill/postgres/postgrestest"
)

// The role belongs to the cluster: databases that are migrated at the same time
// meet at it.
func TestUp_SeveralDatabasesAtOnce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := postgrestest.Server(t, "fsync=off")
	admin := connect(t, server.URL())

	for _, meeting := range []struct{ name, before, first, timeout string }{
		{
			name:    "MeetWhenTheyCreateIt",
			first:   "create role seckill_reporting login",
			timeout: "30s",
		}, {
			name:    "MeetWhenTheyAlterIt", // it is there without some of its settings, as after a restore
			before:  "alter role seckill_reporting reset all; alter role seckill_reporting set statement_timeout = '1min'",
			first:   "alter role seckill_reporting set statement_timeout = '2min'",
			timeout: "2min", // what an administrator has set stays
		},
	} {
		t.Run(meeting.name, func(t *testing.T) {
			if _, err := admin.Exec(ctx, meeting.before); err != nil {
				t.Fatal(err)
			}
			var databases []string
			for i := range 3 {
				name := fmt.Sprintf("%s%d", strings.ToLower(meeting.name), i)
				if _, err := admin.Exec(ctx, "create database "+name+" strategy file_copy"); err != nil {
					t.Fatal(err)
				}
				databases = append(databases, name)
			}

			// Somebody else is at the role until all of them wait for it.
			first, err := admin.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = first.Rollback(context.Background()) }()
			if _, err := first.Exec(ctx, meeting.first); err != nil {
				t.Fatal(err)
			}
			var nodes sync.WaitGroup
			defer nodes.Wait()
			for _, name := range databases {
				nodes.Go(func() {
					if err := migrations.Up(ctx, at(t, server.URL(), "", name)); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			deadline := time.Now().Add(30 * time.Second)
			for scalar[int](t, admin, "select count(*) from pg_locks where not granted and locktype in ('transactionid', 'tuple')") < len(databases) {
				if time.Now().After(deadline) {
					t.Fatal("they do not meet at the role")
				}
				time.Sleep(10 * time.Millisecond)
			}
			if err := first.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			nodes.Wait()

			settings := scalar[[]string](t, admin, `select setconfig from pg_db_role_setting
				where setdatabase = 0 and setrole = 'seckill_reporting'::regrole`)
			slices.Sort(settings)
			want := []string{"default_transaction_read_only=on", "idle_in_transaction_session_timeout=10s", "statement_timeout=" + meeting.timeout}
			if !slices.Equal(settings, want) {
				t.Errorf("the role has the settings %v, want %v", settings, want)
			}
			for _, name := range databases {
				reporter := connect(t, at(t, server.URL(), "seckill_reporting", name))
				if sales := scalar[int](t, reporter, "select count(*) from reporting.funnel"); sales != 0 {
					t.Errorf("%s has %d sales", name, sales)
				}
			}
		})
	}
}

func TestReportingRole(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := postgrestest.Server(t, "fsync=off")
	if err := migrations.Up(ctx, server.URL()); err != nil {
		t.Fatal(err)
	}
	owner := connect(t, server.URL())
	if _, err := owner.Exec(ctx, "insert into secrets values ('key', 'hush')"); err != nil {
		t.Fatal(err)
	}
	reporter := connect(t, at(t, server.URL(), "seckill_reporting", ""))

	t.Run("LoginHasItsSettings", func(t *testing.T) {
		for setting, want := range map[string]string{
			"idle_in_transaction_session_timeout": "10s",
			"statement_timeout":                   "30s",
			"transaction_read_only":               "on",
		} {
			if got := scalar[string](t, reporter, "show "+setting); got != want {
				t.Errorf("%s is %s, want %s", setting, got, want)
			}
		}
		attributes := scalar[string](t, owner, `select concat_ws(' ', rolcanlogin, rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls, rolpassword is null)
			from pg_authid where rolname = 'seckill_reporting'`)
		if attributes != "t f f f f f t" {
			t.Errorf("login, superuser, createrole, createdb, replication, bypassrls, no password: %s", attributes)
		}
	})

	t.Run("ReadsTheViewsOnly", func(t *testing.T) {
		readable := scalar[[]string](t, reporter, `select array_agg(oid::regclass::text order by oid::regclass::text)
			from pg_class where relkind in ('r', 'p', 'v', 'm', 'f', 'S')
				and relnamespace not in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
				and case relkind when 'S' then has_sequence_privilege(oid, 'usage, select, update')
					else has_any_column_privilege(oid, 'select, insert, update, references') end`)
		want := []string{
			"reporting.decision_latency", "reporting.events", "reporting.funnel",
			"reporting.orders", "reporting.rejections", "reporting.timeline", "reporting.turned_away",
		}
		if !slices.Equal(readable, want) {
			t.Errorf("it has rights on %v, want %v", readable, want)
		}
		for _, view := range want {
			if _, err := reporter.Exec(ctx, "select from "+view); err != nil {
				t.Errorf("%s: %v", view, err)
			}
		}
		functions := scalar[[]string](t, reporter, `select coalesce(array_agg(oid::regprocedure::text), '{}')
			from pg_proc where pronamespace = 'public'::regnamespace and has_function_privilege(oid, 'execute')
				and proname not like 'river%'`)
		if len(functions) > 0 {
			t.Errorf("it may call %v", functions)
		}
	})

	// The settings are defaults that a session may change; the rights are not.
	t.Run("CannotWriteOrReadTheRest", func(t *testing.T) {
		conn, err := pgx.Connect(ctx, at(t, server.URL(), "seckill_reporting", ""))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(ctx, "create temporary table t ()"); code(err) != "25006" {
			t.Errorf("a write in a session as it is: got %v, want read_only_sql_transaction", err)
		}
		if _, err := conn.Exec(ctx, "set default_transaction_read_only = off"); err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{
			"select value from secrets",
			"select * from events",
			"select * from sales",
			"select * from purchase_results",
			"select * from river_job",
			"select nextval('order_sequence')",
			"select transaction_id_horizon()",
			"select keep_purchase_results('1 hour')",
			"insert into secrets values ('mine', '')",
			"insert into events (stream_id, version, transaction_id, sale_id, type, data) values (gen_random_uuid(), 1, 1, 1, 'PurchaseConfirmed', '{}')",
			"insert into reporting.events (sale_id) values (1)",
			"update reporting.events set sale_id = 1",
			"delete from reporting.events",
			"update sales set available = 1000",
			"create table mine ()",
			"create table reporting.mine ()",
			"create view reporting.secrets as select * from secrets",
			"create function reporting.f() returns int return 1",
			"set role none; set session authorization seckill",
			"drop view reporting.events",
			"alter role seckill_reporting createrole",
		} {
			if _, err := conn.Exec(ctx, statement); code(err) != "42501" {
				t.Errorf("%s: got %v, want insufficient_privilege", statement, err)
			}
		}
	})
}

// code is the SQLSTATE of an error of the server.
func code(err error) string {
	if serverError, ok := errors.AsType[*pgconn.PgError](err); ok {
		return serverError.Code
	}
	return ""
}

// at returns the address of a server with another role and database, where given.
func at(t *testing.T, address, role, database string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if role != "" {
		parsed.User = url.User(role)
	}
	if database != "" {
		parsed.Path = "/" + database
	}
	return parsed.String()
}
