package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jackc/pgx/v5"

	"seckill/audit"
)

// AuditCmd compares what the tables hold with what the events say.
type AuditCmd struct {
	DatabaseURL string `env:"DATABASE_URL" help:"The database. Without it the private server is audited, whether it runs or not."`
	DataDir     string `env:"SECKILL_DATA_DIR" type:"path" help:"Where the private server keeps its data (default: under the user's cache directory; for root /var/lib/seckill)."`
	JSON        bool   `name:"json" help:"Report in JSON."`
}

// errAuditFailed ends the program with 1; what differs has been printed.
var errAuditFailed = errors.New("what is stored differs from what the events say")

// Run audits, prints what differs, and fails if anything does.
func (c *AuditCmd) Run(ctx context.Context) (err error) {
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
	if _, err := conn.Exec(ctx, "set timezone = 'UTC'; set application_name = 'seckill audit'"); err != nil {
		return err
	}
	report, err := audit.Run(ctx, conn)
	if err != nil {
		return err
	}
	if err := c.write(os.Stdout, report); err != nil {
		return err
	}
	if len(report.Differences) > 0 {
		return errAuditFailed
	}
	return nil
}

func (c *AuditCmd) write(w io.Writer, report audit.Report) error {
	if c.JSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	for _, d := range report.Differences {
		fmt.Fprintf(w, "%s %s", d.Kind, d.Key)
		if d.SaleID != 0 && d.Kind != audit.KindSale {
			fmt.Fprintf(w, " of sale %d", d.SaleID)
		}
		fmt.Fprintf(w, "\n  expected %s\n  stored   %s\n", orNothing(d.Expected), orNothing(d.Stored))
	}
	_, err := fmt.Fprintf(w, "%d sales, %d differences\n", report.Sales, len(report.Differences))
	return err
}

func orNothing(row json.RawMessage) string {
	if row == nil {
		return "nothing"
	}
	return string(row)
}
