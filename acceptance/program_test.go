package acceptance_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// program is the program under test, built by the first test that needs it.
var program struct {
	sync.Once
	dir  string
	path string
	err  error
}

// programPath builds the program, with the race detector where there is a C
// compiler for it.
func programPath(t *testing.T) string {
	t.Helper()
	program.Do(func() { program.path, program.err = buildProgram() })
	if program.err != nil {
		t.Fatalf("build the program: %v", program.err)
	}
	return program.path
}

func buildProgram() (string, error) {
	var err error
	program.dir, err = os.MkdirTemp("", "seckill-acceptance-")
	if err != nil {
		return "", err
	}
	cgo, err := exec.Command("go", "env", "CGO_ENABLED").Output()
	if err != nil {
		return "", err
	}
	path := filepath.Join(program.dir, "seckill")
	arguments := []string{"build", "-o", path}
	if string(bytes.TrimSpace(cgo)) == "1" {
		arguments = append(arguments, "-race")
	}
	output, err := exec.Command("go", append(arguments, "seckill/cmd/seckill")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w:\n%s", err, output)
	}
	return path, nil
}

func removeProgram() error {
	if program.dir == "" {
		return nil
	}
	return os.RemoveAll(program.dir)
}
