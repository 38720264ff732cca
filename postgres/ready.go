package postgres

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var errEnded = errors.New("the server ended")

// Codes of errors that Postgres answers while connecting.
const (
	codeCannotConnectNow  = "57P03"
	codeDuplicateDatabase = "42P04"
	codeUnknownDatabase   = "3D000"
)

// awaitReady returns once a connection to the database works, which it creates
// if need be. Recovery after a crash may take minutes: only the context limits
// the waiting. It returns errEnded if the server has ended.
func awaitReady(ctx context.Context, socketDir string, ended <-chan struct{}, logger *slog.Logger) error {
	reminder := time.NewTicker(5 * time.Second)
	defer reminder.Stop()
	for {
		err := ping(ctx, socketDir)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil && !isStarting(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return errEnded
		case <-reminder.C:
			logger.InfoContext(ctx, "Postgres is still starting", "answer", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func ping(ctx context.Context, socketDir string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	err := execute(ctx, socketURL(socketDir, databaseName), "")
	if !isCode(err, codeUnknownDatabase) {
		return err
	}
	err = execute(ctx, socketURL(socketDir, "postgres"), "create database "+databaseName)
	if isCode(err, codeDuplicateDatabase) {
		return nil
	}
	return err
}

// execute runs a statement on a connection of its own.
func execute(ctx context.Context, url, statement string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

// isStarting reports whether an error is one that goes by as a server comes up
// or goes down.
func isStarting(err error) bool {
	for _, passing := range []error{
		context.DeadlineExceeded, io.ErrUnexpectedEOF,
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ENOENT, syscall.EPIPE,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return isCode(err, codeCannotConnectNow)
}

func isCode(err error, code string) bool {
	answer, ok := errors.AsType[*pgconn.PgError](err)
	return ok && answer.Code == code
}
