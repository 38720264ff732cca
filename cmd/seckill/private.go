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
