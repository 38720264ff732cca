package migrations

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

//go:embed grants/service.sql
var serviceGrants string

// grantService gives the service's role its rights, if there is the role: it may be
// missing where the owner cannot create one, or be made later.
func grantService(ctx context.Context, pool *pgxpool.Pool, schemaChanged bool) error {
	var missing bool
	err := pool.QueryRow(ctx, `select to_regrole('seckill_service') is not null
		and ($1 or not has_table_privilege(to_regrole('seckill_service'), 'events', 'insert'))`, schemaChanged).Scan(&missing)
	if err != nil {
		return fmt.Errorf("look for the service's role: %w", err)
	}
	if !missing {
		return nil
	}
	if _, err := pool.Exec(ctx, serviceGrants); err != nil {
		return fmt.Errorf("give the service's role its rights: %w", err)
	}
	return nil
}

// ErrOutdated is returned where the schema is not that of this program, and the role
// that the program has may not change it.
var ErrOutdated = errors.New("run seckill migrate as the database's owner, or set SECKILL_MIGRATE_URL")

// Ensure makes sure that the database has the schema of this version: by Up if the role
// may change it, which that of the service must not; else it only looks, and returns
// ErrOutdated unless everything is there.
func Ensure(ctx context.Context, databaseURL string) error {
	pool, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("parse database URL: %w", err)
	}
	defer pool.Close()
	var present, owned bool
	err = pool.QueryRow(ctx, `select to_regclass('events') is not null,
		coalesce((select pg_has_role(relowner, 'usage') from pg_class where oid = to_regclass('events')),
			has_schema_privilege(current_schema(), 'create'), false)`).Scan(&present, &owned)
	switch {
	case err != nil:
		return fmt.Errorf("ask whose schema it is: %w", err)
	case owned:
		return Up(ctx, databaseURL)
	case !present:
		return fmt.Errorf("the database has no schema yet: %w", ErrOutdated)
	default:
		return check(ctx, pool)
	}
}

// check returns an error unless there is nothing to do for Up.
func check(ctx context.Context, pool *pgxpool.Pool) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return fmt.Errorf("prepare River's migrations: %w", err)
	}
	queue, err := migrator.Validate(ctx, nil)
	if err != nil {
		return fmt.Errorf("read the version of River's tables: %w", err)
	}
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files)
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	switch {
	case current > target:
		return newerSchema(current, target)
	case current < target:
		return fmt.Errorf("the database has schema version %d, this program needs %d: %w", current, target, ErrOutdated)
	case !queue.OK:
		return fmt.Errorf("the queue's tables are older than this program: %w", ErrOutdated)
	}
	return checkOffset(ctx, db)
}

// checkOffset returns an error if raiseOffset would raise it.
func checkOffset(ctx context.Context, db *sql.DB) error {
	highest, err := highestTransaction(ctx, db)
	if err != nil {
		return err
	}
	var next int64
	if err := db.QueryRowContext(ctx, "select current_transaction_id()").Scan(&next); err != nil {
		return fmt.Errorf("ask for a transaction ID: %w", err)
	}
	if next <= highest {
		return fmt.Errorf("the database was restored from a dump, and new events would come before old ones: %w", ErrOutdated)
	}
	return nil
}
