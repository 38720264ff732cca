package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Undurable names the settings of the server that let a crash lose what was
// committed: fsync, full_page_writes and synchronous_commit where they are off.
// With none the answer is empty.
func Undurable(ctx context.Context, pool *pgxpool.Pool) ([]string, error) {
	var off []string
	err := pool.QueryRow(ctx, `select coalesce(array_agg(name order by name), '{}') from pg_settings
		where name in ('fsync', 'full_page_writes', 'synchronous_commit') and setting = 'off'`).Scan(&off)
	if err != nil {
		return nil, fmt.Errorf("read the server's settings: %w", err)
	}
	return off, nil
}
