package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"seckill/load/bench"
	"seckill/postgres"
)

// benchDatabase is a private Postgres server that each server under measurement
// gets a fresh database of.
type benchDatabase struct {
	dir    string
	made   int
	server *postgres.Embedded
}

func startBenchDatabase(ctx context.Context) (*benchDatabase, error) {
	dir, err := benchDataDir()
	if err != nil {
		return nil, fmt.Errorf("make a directory for Postgres: %w", err)
	}
	server, err := postgres.StartEmbedded(ctx, postgres.EmbeddedConfig{DataDir: dir})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &benchDatabase{dir: dir, server: server}, nil
}

// benchDataDir makes a directory beside the one where the service keeps its data
// by default: what is measured is the disk that it would use, not a directory in
// memory.
func benchDataDir() (string, error) {
	beside, err := postgres.DefaultDataDir()
	if err != nil {
		return "", err
	}
	parent := filepath.Dir(beside)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(parent, "seckill-bench-")
	if err != nil {
		return "", err
	}
	// The account that Postgres runs as must get through to its own directory.
	return dir, os.Chmod(dir, 0o755)
}

func (d *benchDatabase) close() error {
	return errors.Join(d.server.Stop(), os.RemoveAll(d.dir))
}

func (d *benchDatabase) version(ctx context.Context) (version string, err error) {
	err = d.connect(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "show server_version").Scan(&version)
	})
	return version, err
}

// serve returns how to start the service on a database of its own, with a
// SECKILL_MAX_BATCH or, if that is empty, with the default.
func (d *benchDatabase) serve(maxBatch string) func(context.Context) (*bench.Server, error) {
	return func(ctx context.Context) (*bench.Server, error) {
		d.made++
		name := fmt.Sprintf("bench_%d", d.made)
		// The checkpoint is so that none pays for what another left to be written.
		if err := d.exec(ctx, "create database "+name, "checkpoint"); err != nil {
			return nil, err
		}
		settings := []string{"DATABASE_URL=" + d.url(name)}
		if maxBatch != "" {
			settings = append(settings, "SECKILL_MAX_BATCH="+maxBatch)
		}
		server, err := startChild(ctx, "serve", settings...)
		if err != nil {
			return nil, err
		}
		server.Database = d.url(name)
		stop := server.Stop
		server.Stop = func() error {
			return errors.Join(stop(), d.exec(context.WithoutCancel(ctx), "drop database "+name+" with (force)"))
		}
		return server, nil
	}
}

// url is that of a database on the server.
func (d *benchDatabase) url(name string) string {
	address, err := url.Parse(d.server.URL())
	if err != nil {
		panic(err) // it is ours
	}
	address.Path = "/" + name
	return address.String()
}

// exec executes each statement by itself.
func (d *benchDatabase) exec(ctx context.Context, statements ...string) error {
	return d.connect(ctx, func(conn *pgx.Conn) error {
		for _, statement := range statements {
			if _, err := conn.Exec(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	})
}

func (d *benchDatabase) connect(ctx context.Context, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, d.server.URL())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return do(conn)
}
