package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/load/bench"
)

//go:embed bench_history.sql
var benchHistory string

// historyDatabase is the one with a past. It is made once: what a turn adds to ten
// million events does not count.
const historyDatabase = "bench_history"

// serveWithHistory returns how to start the service on a database with a past.
func (d *benchDatabase) serveWithHistory(ctx context.Context) (func(context.Context) (*bench.Server, error), error) {
	began := time.Now()
	fmt.Fprintln(os.Stderr, "writing a history of ten million events: some minutes")
	if err := d.exec(ctx, "create database "+historyDatabase); err != nil {
		return nil, err
	}
	start := func(ctx context.Context) (*bench.Server, error) {
		if err := d.exec(ctx, "checkpoint"); err != nil {
			return nil, err
		}
		return startChild(ctx, "serve", "DATABASE_URL="+d.url(historyDatabase))
	}
	server, err := start(ctx) // which migrates
	if err != nil {
		return nil, err
	}
	if err := server.Stop(); err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, d.url(historyDatabase))
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, benchHistory)
	if err == nil {
		_, err = conn.Exec(ctx, "vacuum analyze")
	}
	if err := errors.Join(err, conn.Close(context.WithoutCancel(ctx))); err != nil {
		return nil, fmt.Errorf("write the history: %w", err)
	}
	fmt.Fprintf(os.Stderr, "written in %v\n", time.Since(began).Round(time.Second))
	return start, nil
}
