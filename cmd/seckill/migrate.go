package main

import (
	"context"

	"seckill/migrations"
)

// MigrateCmd migrates a database, for operators who do not let the service do it.
type MigrateCmd struct {
	DatabaseURL string `env:"SECKILL_MIGRATE_URL,DATABASE_URL" required:"" help:"The database, as a postgres:// URL or a connection string, by the role that owns it."`
}

// Run migrates.
func (c *MigrateCmd) Run(ctx context.Context) error {
	return migrations.Up(ctx, c.DatabaseURL)
}
