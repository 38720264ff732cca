// Command seckill is a flash-sale service on Postgres: the server and the tools
// around it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is that of the program; releases set it by -ldflags.
var version = "dev"

// CLI is the program's commands.
type CLI struct {
	Serve     ServeCmd     `cmd:"" default:"withargs" help:"Serve the API and the page."`
	Migrate   MigrateCmd   `cmd:"" help:"Bring a database to this version's schema."`
	Audit     AuditCmd     `cmd:"" help:"Compare what the tables hold with what the events say. Exits with 1 if anything differs."`
	Rebuild   RebuildCmd   `cmd:"" help:"Make the read models what the events say, while sales go on."`
	Bench     BenchCmd     `cmd:"" help:"Measure the service on this machine, beside the naive way and a server that does nothing."`
	BenchPush BenchPushCmd `cmd:"" help:"Measure how many can wait for results on one node, and how soon they are told."`
	Load      LoadCmd      `cmd:"" help:"Buy in large numbers from a running service, and check what it says."`
	Noop      NoopCmd      `cmd:"" hidden:"" help:"Answer like the service without doing anything: the ceiling of this machine."`

	Token TokenCmd `cmd:"" help:"Make a token for trying out, with SECKILL_JWT_SECRET."`

	Version kong.VersionFlag `help:"Print the version."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var cli CLI
	command := kong.Parse(&cli,
		kong.Name("seckill"),
		kong.Description("A flash-sale service (秒杀) on nothing but Postgres."),
		kong.UsageOnError(),
		kong.Vars{"version": version},
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err := command.Run(); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "seckill:", err)
		os.Exit(1)
	}
}
