package migrations_test

import (
	"testing"

	"seckill/postgres/postgrestest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }
