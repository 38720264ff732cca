package http_test

import (
	"testing"

	"go.uber.org/goleak"

	"seckill/postgres/postgrestest"
)

// When the tests are over nothing of theirs may run on: no stream, no watch, no
// node (FAULTS 25).
func TestMain(m *testing.M) { postgrestest.Main(m, func() error { return goleak.Find() }) }
