// Package migrations brings a database to the schema of this version: River's
// tables first, then the project's own by goose. The SQL files are append-only
// once landed.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

//go:embed *.sql
var files embed.FS

// lockKey is the advisory lock that one migrating node holds while the others wait.
const lockKey = 0x5EC_41_15

// Up migrates the database, or returns at once if there is nothing to do. Many
// nodes may call it at the same time: one works while the others wait. It also
// raises the transaction-ID offset where a restored dump needs it, and gives the
// service's role its rights. It returns an error if the database was migrated by a
// newer version of the program.
func Up(ctx context.Context, databaseURL string) error {
	pool, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("parse database URL: %w", err)
	}
	defer pool.Close()
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()

	// The lock lives on a connection of its own: River's migrations do not all run
	// in one transaction, so a transaction's lock would not cover them.
	lock, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect to migrate: %w", err)
	}
	defer lock.Close()
	if _, err := lock.ExecContext(ctx, "select pg_advisory_lock($1)", lockKey); err != nil {
		return fmt.Errorf("wait for other migrating nodes: %w", err)
	}
	defer func() {
		unlockCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, _ = lock.ExecContext(unlockCtx, "select pg_advisory_unlock($1)", lockKey) // closing the connection frees it as well
	}()

	queueChanged, err := upRiver(ctx, pool)
	if err != nil {
		return err
	}
	ownChanged, err := upOwn(ctx, db)
	if err != nil {
		return err
	}
	if err := grantService(ctx, pool, queueChanged || ownChanged); err != nil {
		return err
	}
	return raiseOffset(ctx, db)
}

func upRiver(ctx context.Context, pool *pgxpool.Pool) (changed bool, err error) {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return false, fmt.Errorf("prepare River's migrations: %w", err)
	}
	result, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	if err != nil {
		return false, fmt.Errorf("migrate River's tables: %w", err)
	}
	return len(result.Versions) > 0, nil
}

func upOwn(ctx context.Context, db *sql.DB) (changed bool, err error) {
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files)
	if err != nil {
		return false, fmt.Errorf("prepare migrations: %w", err)
	}
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return false, fmt.Errorf("read the schema version: %w", err)
	}
	if current > target {
		return false, newerSchema(current, target)
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return false, fmt.Errorf("migrate: %w", err)
	}
	return len(results) > 0, nil
}

// ErrNewerSchema is returned when a newer program has migrated the database.
var ErrNewerSchema = errors.New("run the newer program, or restore an older backup")

func newerSchema(current, target int64) error {
	return fmt.Errorf("the database has schema version %d, this program knows up to %d: %w", current, target, ErrNewerSchema)
}

// raiseOffset makes new transaction IDs larger than every stored one. They are
// already, unless a dump was restored into a cluster that has used fewer IDs
// than the one it came from.
func raiseOffset(ctx context.Context, db *sql.DB) error {
	// Two statements: the ID must be assigned after the highest stored one was
	// read, or other nodes' newer events would look like a restored dump.
	highest, err := highestTransaction(ctx, db)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `
		update transaction_id_offset
		set value = value + $1 - current_transaction_id() + 1
		where current_transaction_id() <= $1`, highest)
	if err != nil {
		return fmt.Errorf("raise the transaction-ID offset: %w", err)
	}
	return nil
}

func highestTransaction(ctx context.Context, db *sql.DB) (int64, error) {
	var highest int64
	if err := db.QueryRowContext(ctx, "select coalesce(max(transaction_id), 0) from events").Scan(&highest); err != nil {
		return 0, fmt.Errorf("read the highest transaction ID: %w", err)
	}
	return highest, nil
}
