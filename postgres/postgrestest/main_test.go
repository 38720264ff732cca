package postgrestest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// hangEnv makes the test program one that starts servers as Main and Server do,
// says where their files are, and then hangs.
const hangEnv = "SECKILL_TEST_HANG"

func TestMain(m *testing.M) {
	if os.Getenv(hangEnv) != "" {
		if _, err := openCluster(context.Background(), ""); err != nil {
			os.Exit(complain("hang", err))
		}
		fmt.Println(temp.dir.path)
		select {}
	}
	Main(m, func() error { return goleak.Find() })
}
