package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/projections"
)

// RebuildCmd makes the read models what the events say.
type RebuildCmd struct {
	Models      []string `arg:"" optional:"" enum:"orders,results,activity" help:"Which: orders, results, activity (default: all)."`
	DatabaseURL string   `env:"DATABASE_URL" help:"The database. Without it that of the private server, whether it runs or not."`
	DataDir     string   `env:"SECKILL_DATA_DIR" type:"path" help:"Where the private server keeps its data (default: under the user's cache directory; for root /var/lib/seckill)."`
}

// Run rebuilds, and says what it did.
func (c *RebuildCmd) Run(ctx context.Context) (err error) {
	databaseURL, stop, err := databaseOrPrivate(ctx, c.DatabaseURL, c.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	err = projections.Rebuild(ctx, conn, c.models(), printProgress(os.Stdout))
	if errors.Is(err, context.Canceled) {
		return errStoppedHalfway // not a success, as main has it of what is cancelled
	}
	return err
}

var errStoppedHalfway = errors.New("stopped half-way: what was rebuilt is right; run it again for the rest")

func (c *RebuildCmd) models() []projections.Model {
	if len(c.Models) == 0 {
		return projections.Models
	}
	var models []projections.Model
	for _, name := range c.Models {
		if model := projections.Model(name); !slices.Contains(models, model) {
			models = append(models, model)
		}
	}
	return models
}

// printProgress prints a line per second, and one for each model at its end.
func printProgress(w io.Writer) func(projections.Rebuilt) {
	var printed time.Time
	return func(r projections.Rebuilt) {
		if !r.Done && time.Since(printed) < time.Second {
			return
		}
		state := "…"
		if r.Done {
			state = "done"
		}
		printed = time.Now()
		fmt.Fprintf(w, "%-8s %d rows checked, %d written, %d deleted, %.1f s %s\n", r.Model, r.Checked, r.Written, r.Deleted, r.Took.Seconds(), state)
	}
}
