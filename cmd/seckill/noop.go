package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"seckill/load/noop"
)

// NoopCmd serves the contract without doing anything: the ceiling that the
// benchmark compares the service with.
type NoopCmd struct {
	Listen string `default:"127.0.0.1:0" env:"SECKILL_LISTEN" help:"Address to listen on."`
}

// Run serves until ctx ends. Nothing is worth finishing then.
func (c *NoopCmd) Run(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())

	server := &http.Server{Handler: noop.New(), ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
