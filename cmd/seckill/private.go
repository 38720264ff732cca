package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"seckill/postgres"
)

// privatePostgres starts the program's own server. The context that it returns
// ends with the given one, or, with a cause, when the server ends by itself.
func privatePostgres(ctx context.Context, dataDir string, logger *slog.Logger) (context.Context, *postgres.Embedded, error) {
	server, err := postgres.StartEmbedded(ctx, postgres.EmbeddedConfig{DataDir: dataDir, Logger: logger})
	if err != nil {
		return ctx, nil, fmt.Errorf("start a private Postgres: %w", err)
	}
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		<-server.Done()
		end(errors.Join(errServerEnded, server.Err()))
	}()
	return ctx, server, nil
}

var errServerEnded = errors.New("the private Postgres has ended")

// causeOf is why the serving ended, or nil if somebody asked for it.
func causeOf(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, errServerEnded) {
		return cause
	}
	return nil
}

// databaseOrPrivate is where a tool connects to: the database that is named, else the
// private server, which is started if it does not run.
func databaseOrPrivate(ctx context.Context, named, dataDir string) (databaseURL string, stop func() error, err error) {
	nothing := func() error { return nil }
	if named != "" {
		return named, nothing, nil
	}
	private, err := postgres.StartEmbedded(ctx, postgres.EmbeddedConfig{DataDir: dataDir, Logger: slog.New(slog.DiscardHandler)})
	if errors.Is(err, postgres.ErrInUse) {
		databaseURL, err = postgres.RunningURL(dataDir)
		return databaseURL, nothing, err
	}
	if err != nil {
		return "", nothing, err
	}
	return private.URL(), private.Stop, nil
}
