package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"

	"seckill/load/bench"
	"seckill/load/push"
)

// BenchPushCmd measures how many can wait on one node, and how soon they are told.
type BenchPushCmd struct {
	Subscribers int    `default:"18000" help:"How many wait at the same time, by SSE and then by WebSocket, and how many watch one sale."`
	Told        int    `default:"10000" help:"How many wait for the purchases of a single batch."`
	Out         string `help:"Write the table into this file too." placeholder:"FILE" type:"path"`
}

// Run measures and prints the table.
func (c *BenchPushCmd) Run(ctx context.Context) (err error) {
	busy := bench.Busy()
	database, err := startBenchDatabase(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.close()) }()
	postgresVersion, err := database.version(ctx)
	if err != nil {
		return err
	}
	var text strings.Builder
	describeMachine(&text, postgresVersion, busy)
	fmt.Fprintf(&text, "`seckill bench-push --subscribers %d --told %d`\n\n", c.Subscribers, c.Told)
	if err := c.measure(ctx, database, &text); err != nil {
		return err
	}
	fmt.Print(text.String())
	if c.Out != "" {
		return os.WriteFile(c.Out, []byte(text.String()), 0o644)
	}
	return nil
}

// measure gives each measurement a fresh server.
func (c *BenchPushCmd) measure(ctx context.Context, database *benchDatabase, w io.Writer) error {
	fmt.Fprint(w, "| what | measured | aim |\n|---|--:|--:|\n")
	for _, way := range []struct {
		way   push.Way
		name  string
		bytes int
	}{{push.SSE, "SSE", 32}, {push.WebSocket, "WebSocket", 24}} {
		fmt.Fprintf(os.Stderr, "%d subscribers by %s\n", c.Subscribers, way.name)
		err := database.push(ctx, func(server push.Server) error {
			waiting, err := push.Wait(ctx, server, way.way, c.Subscribers)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "| **%s**, subscribers at once | %d | 18000 |\n", way.name, waiting.Subscribers)
			fmt.Fprintf(w, "| … resident memory each, KB | %.1f | %d |\n", float64(waiting.Bytes)/1024, way.bytes)
			fmt.Fprintf(w, "| … queries/s in the database for all of them, and ms each | %.1f / %.0f | 1 |\n", waiting.Queries, waiting.QueryTime)
			fmt.Fprintf(w, "| … all decided at once: decision to told, p50 / p99 / most, ms | %.0f / %.0f / %.0f | |\n", waiting.Told.P50, waiting.Told.P99, waiting.Told.Max)
			return nil
		})
		if err != nil {
			return fmt.Errorf("%d subscribers by %s: %w", c.Subscribers, way.name, err)
		}
		fmt.Fprintf(os.Stderr, "one batch told to %d by %s\n", c.Told, way.name)
		err = database.push(ctx, func(server push.Server) error {
			told, err := push.Tell(ctx, server, way.way, c.Told)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "| … one batch, %d wait for it: decision to told, p50 / p99 / most, ms | %.0f / %.0f / %.0f | p99 500 |\n", c.Told, told.P50, told.P99, told.Max)
			return nil
		})
		if err != nil {
			return fmt.Errorf("one batch told to %d by %s: %w", c.Told, way.name, err)
		}
	}
	fmt.Fprintf(os.Stderr, "%d watchers of one sale\n", c.Subscribers)
	err := database.push(ctx, func(server push.Server) error {
		watching, err := push.Watch(ctx, server, c.Subscribers)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| **watchers of one sale** that changes 4 times a second | %d | 18000 |\n", watching.Watchers)
		fmt.Fprintf(w, "| … behind, p50 / p99 / most, ms | %.0f / %.0f / %.0f | most 1000 |\n", watching.Behind.P50, watching.Behind.P99, watching.Behind.Max)
		fmt.Fprintf(w, "| … did not see the last state | %d | 0 |\n", watching.Missed)
		fmt.Fprintf(w, "| … the server's CPU, cores | %.2f | 1 |\n", watching.Cores)
		fmt.Fprintf(w, "| … updates that arrived/s | %.0f | |\n", watching.PerSecond)
		fmt.Fprintf(w, "| … resident memory each, KB | %.1f | |\n", float64(watching.Bytes)/1024)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%d watchers: %w", c.Subscribers, err)
	}
	return nil
}

// push starts a server on a database of its own, and a connection that can hold
// sales: whoever has the row of a sale locked keeps it from being decided.
func (d *benchDatabase) push(ctx context.Context, measure func(push.Server) error) (err error) {
	server, err := d.serve("")(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	holder, err := pgx.Connect(ctx, server.Database)
	if err != nil {
		return err
	}
	defer holder.Close(context.WithoutCancel(ctx))
	if _, err := holder.Exec(ctx, "begin"); err != nil {
		return err
	}
	return measure(push.Server{
		URL: server.URL,
		PID: server.PID,
		Hold: func(ctx context.Context, saleID int64) error {
			_, err := holder.Exec(ctx, "select from sales where sale_id = $1 for update", saleID)
			return err
		},
		Release: func(ctx context.Context) error {
			_, err := holder.Exec(ctx, "commit")
			return err
		},
	})
}
