package postgres

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// runEnv makes the test program one that runs a server on the directory that the
// variable names, says which process that is, and waits to be killed.
const runEnv = "SECKILL_TEST_RUN_SERVER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(runEnv); dir != "" {
		server, err := StartEmbedded(context.Background(), EmbeddedConfig{DataDir: dir, Settings: testSettings})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(server.PID())
		<-server.Done()
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}
