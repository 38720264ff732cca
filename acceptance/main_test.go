package acceptance_test

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := removeProgram(); err != nil {
		fmt.Fprintln(os.Stderr, "acceptance:", err)
		code = 1
	}
	os.Exit(code)
}
