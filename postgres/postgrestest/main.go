package postgrestest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"testing"
)

// Main runs a package's tests and exits. The databases that New returns are
// made on the server that SECKILL_TEST_DATABASE_URL names, where the user must be
// allowed to create databases, else on an embedded server, which is gone
// afterwards however the tests end. If that cannot be started, Main says why and
// exits with 1.
//
// A deadlock on the embedded server makes the run fail: nothing of ours may lock in
// different orders.
//
// The checks run after tests that passed, once the server is stopped; an error
// makes the run fail. One for leaked goroutines belongs here.
func Main(m *testing.M, checks ...func() error) {
	os.Exit(run(m, checks))
}

func run(m *testing.M, checks []func() error) int {
	var err error
	shared, err = openCluster(context.Background(), os.Getenv("SECKILL_TEST_DATABASE_URL"))
	if err != nil {
		return complain("no Postgres for the tests", err)
	}
	code := m.Run()
	if err := shared.checkDeadlocks(); err != nil {
		code = cmp.Or(code, complain("the tests' Postgres", err))
	}
	if code != 0 {
		shared.keepLog()
	}
	if err := shared.close(context.Background()); err != nil {
		code = cmp.Or(code, complain("the tests' Postgres", err))
	}
	if err := removeTempDir(); err != nil {
		code = cmp.Or(code, complain("the tests' files", err))
	}
	for _, check := range checks {
		if code != 0 {
			break
		}
		if err := check(); err != nil {
			code = complain("after the tests", err)
		}
	}
	return code
}

func complain(what string, err error) int {
	fmt.Fprintf(os.Stderr, "postgrestest: %s: %v\n", what, err)
	return 1
}
