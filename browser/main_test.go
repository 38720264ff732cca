package browser_test

import (
	"testing"

	"go.uber.org/goleak"

	"seckill/postgres/postgrestest"
)

// When the tests are over, nothing of theirs may run on: no browser, no service.
func TestMain(m *testing.M) { postgrestest.Main(m, func() error { return goleak.Find() }) }
