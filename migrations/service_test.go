package migrations_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/migrations"
	"seckill/postgres/postgrestest"
)

// ownedByAnother makes a server with a database whose owner may do nothing else, and
// which has the roles or not. It returns the addresses by the owner and by a role of the
// service, and a connection of the administrator.
func ownedByAnother(t *testing.T, roles string) (owner, service string, admin *pgxpool.Pool) {
	t.Helper()
	server := postgrestest.Server(t, "fsync=off")
	admin = connect(t, server.URL())
	for _, statement := range []string{"create role landlord login", "create database shop owner landlord", roles} {
		if _, err := admin.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return at(t, server.URL(), "landlord", "shop"), at(t, server.URL(), "clerk", "shop"), connect(t, at(t, server.URL(), "", "shop"))
}

const serviceRoles = "create role seckill_service nologin; create role clerk login in role seckill_service"

func TestServiceRole(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	owner, service, admin := ownedByAnother(t, serviceRoles)
	if err := migrations.Up(ctx, owner); err != nil {
		t.Fatal(err)
	}
	clerk := connect(t, service)
	appendOne(t, clerk)

	t.Run("CannotChangeWhatIsOrWasSo", func(t *testing.T) {
		for _, statement := range []string{
			"update events set type = 'OrderPaid'",
			"delete from events",
			"truncate events",
			"truncate events, orders",
			"alter table events disable trigger events_are_append_only",
			"alter table events add column x int",
			"drop trigger events_are_append_only on events",
			"drop table events",
			"create rule r as on insert to events do instead nothing",
			"create trigger t before insert on events execute function forbid_event_change()",
			"update transaction_id_offset set value = value + 1",
			"update secrets set value = ''",
			"delete from secrets",
			"delete from sales",
			"delete from allowances",
			"truncate orders",
			"drop table orders",
			"drop table purchase_results_default",
			"delete from purchase_results_default", // the retention may, by its function
			"alter table river_job disable trigger all",
			"update goose_db_version set version_id = 99999",
			"delete from river_migration",
			"create table mine ()",
			"create function uuid_at(text) returns uuid return null",
			"alter function keep_purchase_results(interval) reset all",
			"create or replace view reporting.events as select 1 as one",
			"select * from reporting.events",
			"alter sequence order_sequence restart",
			"select setval('order_sequence', 1)",
			"set role landlord",
			"set session_replication_role = replica",
			"create role other",
		} {
			if _, err := clerk.Exec(ctx, statement); code(err) != "42501" {
				t.Errorf("%s: got %v, want insufficient_privilege", statement, err)
			}
		}
	})

	t.Run("KeepsPartitionsByTheOwnersHand", func(t *testing.T) {
		if _, err := admin.Exec(ctx, `set role landlord;
			create table purchase_results_200001010000 partition of purchase_results
				for values from (uuid_at('2000-01-01 00:00:00Z')) to (uuid_at('2000-01-01 00:10:00Z'));
			reset role`); err != nil {
			t.Fatal(err)
		}
		// What is in front of the schema in a session is not looked at.
		if _, err := clerk.Exec(ctx, `create temporary table purchase_results_default (decided_at timestamptz);
			insert into purchase_results_default values ('2000-01-01')`); err != nil {
			t.Fatal(err)
		}
		if _, err := clerk.Exec(ctx, "select keep_purchase_results('30 minutes')"); err != nil {
			t.Fatal(err)
		}
		made := scalar[[]string](t, admin, `select array_agg(distinct relowner::regrole::text) from pg_inherits
			join pg_class c on c.oid = inhrelid where inhparent = 'purchase_results'::regclass`)
		if !slices.Equal(made, []string{"landlord"}) {
			t.Errorf("the partitions belong to %v", made)
		}
		if count := scalar[int](t, admin, "select count(*) from pg_inherits where inhparent = 'purchase_results'::regclass"); count != 4 {
			t.Errorf("there are %d partitions, want the default one and those of half an hour", count)
		}
	})

	// What a migration adds and the service needs is easily forgotten in its grants.
	t.Run("HasSomeRightOnEverything", func(t *testing.T) {
		without := scalar[[]string](t, admin, `select coalesce(array_agg(oid::regclass::text), '{}') from pg_class
			where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'S') and not relispartition
				and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'i') -- the sequences of identities
				and case relkind when 'S' then not has_sequence_privilege('seckill_service', oid, 'usage')
					else not has_table_privilege('seckill_service', oid, 'select') end`)
		if len(without) > 0 {
			t.Errorf("it has no rights on %v: add them to grants/service.sql", without)
		}
		functions := scalar[[]string](t, admin, `select coalesce(array_agg(oid::regprocedure::text), '{}') from pg_proc
			where pronamespace = 'public'::regnamespace and prorettype <> 'trigger'::regtype
				and not has_function_privilege('seckill_service', oid, 'execute')`)
		if len(functions) > 0 {
			t.Errorf("it may not call %v: add them to grants/service.sql", functions)
		}
	})

	t.Run("ReadsAndAddsEventsOnly", func(t *testing.T) {
		if _, err := clerk.Exec(ctx, "grant all on events to clerk"); err != nil { // which only warns
			t.Fatal(err)
		}
		privileges := scalar[[]string](t, admin, `select array_agg(p) from unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references', 'trigger']) p
			where has_table_privilege('clerk', 'events', p)`)
		if !slices.Equal(privileges, []string{"select", "insert"}) {
			t.Errorf("it may %v", privileges)
		}
		if scalar[bool](t, admin, "select has_any_column_privilege('clerk', 'events', 'update')") {
			t.Error("it may update a column")
		}
	})
}

// Where the owner cannot create roles, the schema is made all the same; a role that an
// administrator makes later gets its rights by the next migration.
func TestUp_RoleMadeLater(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	owner, service, admin := ownedByAnother(t, "select")
	if err := migrations.Up(ctx, owner); err != nil {
		t.Fatal(err)
	}
	if scalar[bool](t, admin, "select to_regrole('seckill_service') is not null") {
		t.Fatal("the owner could create the role: the test shows nothing")
	}
	if _, err := admin.Exec(ctx, serviceRoles); err != nil {
		t.Fatal(err)
	}
	if err := migrations.Up(ctx, owner); err != nil {
		t.Fatal(err)
	}
	appendOne(t, connect(t, service))
}

// A role that may not change the schema needs nobody who may, as long as nothing is to
// be done.
func TestEnsure(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	owner, service, admin := ownedByAnother(t, serviceRoles)
	if err := migrations.Ensure(ctx, service); !errors.Is(err, migrations.ErrOutdated) {
		t.Fatalf("without a schema: %v", err)
	}
	if err := migrations.Ensure(ctx, owner); err != nil {
		t.Fatal(err)
	}
	if err := migrations.Ensure(ctx, service); err != nil {
		t.Fatalf("with all that is needed: %v", err)
	}
	for _, test := range []struct {
		name, spoil, mend string
		want              error
	}{
		{"Older", "delete from goose_db_version where version_id = (select max(version_id) from goose_db_version)",
			"insert into goose_db_version (version_id, is_applied) select max(version_id) + 1, true from goose_db_version", migrations.ErrOutdated},
		{"Newer", "insert into goose_db_version (version_id, is_applied) values (99999, true)",
			"delete from goose_db_version where version_id = 99999", migrations.ErrNewerSchema},
		{"OlderQueue", "create table kept as select * from river_migration; delete from river_migration where version = (select max(version) from river_migration)",
			"insert into river_migration select * from kept on conflict do nothing", migrations.ErrOutdated},
		{"RestoredDump", "insert into events (stream_id, version, transaction_id, sale_id, type, data) values (gen_random_uuid(), 1, 1e12, 1, 'PurchaseRequested', '{}')",
			"update transaction_id_offset set value = 1e12", migrations.ErrOutdated},
	} {
		if _, err := admin.Exec(ctx, test.spoil); err != nil {
			t.Fatal(err)
		}
		if err := migrations.Ensure(ctx, service); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		} else if errors.Is(err, migrations.ErrOutdated) && !strings.Contains(err.Error(), "SECKILL_MIGRATE_URL") {
			t.Errorf("%s: %q does not say what to do", test.name, err)
		}
		if _, err := admin.Exec(ctx, test.mend); err != nil {
			t.Fatal(err)
		}
		if err := migrations.Ensure(ctx, service); err != nil {
			t.Errorf("%s: mended, and still %v", test.name, err)
		}
	}
}
