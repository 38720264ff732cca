package projections

import (
	"testing"

	"seckill/postgres/postgrestest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }
