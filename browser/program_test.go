package browser_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	_ "seckill/http" // or go test would not notice that the program has changed, and tell an old result
)

const (
	// startWithin is how long the program, or a browser, may take to start.
	startWithin = 30 * time.Second
	// stopWithin is how long the program may take to stop.
	stopWithin = 15 * time.Second
)

// untilEOF is a shell script that runs a program until the script's input ends:
// when the test closes it, or when the test's process is gone, whose cleanups
// nothing else would make up for.
const untilEOF = `"$@" & read -r _; kill "$!"; wait "$!"`

// startProgram builds the program and serves with a demo sale until the test
// ends. It returns the URL that the program says it listens at.
func startProgram(t *testing.T, databaseURL string, settings ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "seckill")
	if output, err := exec.Command("go", "build", "-o", program, "seckill/cmd/seckill").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, output)
	}
	said := &programOutput{listensAt: make(chan string, 1)}
	shell := exec.Command("sh", "-c", untilEOF, "sh", program, "serve", "--demo")
	shell.Env = append(append(os.Environ(), "DATABASE_URL="+databaseURL, "SECKILL_LISTEN=127.0.0.1:0"), settings...)
	shell.Stdout, shell.Stderr = said, said
	shell.WaitDelay = stopWithin
	input, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := shell.Start(); err != nil {
		t.Fatalf("start the program: %v", err)
	}
	t.Cleanup(func() {
		stopProgram(t, shell, input)
		said.judge(t)
	})
	select {
	case url := <-said.listensAt:
		return url
	case <-time.After(startWithin):
		t.Fatalf("the program did not say within %s where it listens", startWithin)
		return ""
	}
}

func stopProgram(t *testing.T, shell *exec.Cmd, input io.Closer) {
	t.Helper()
	kill := time.AfterFunc(stopWithin, func() {
		t.Errorf("the program did not stop within %s", stopWithin)
		_ = shell.Process.Kill() // it may have ended already
	})
	defer kill.Stop()
	if err := input.Close(); err != nil {
		t.Errorf("stop the program: %v", err)
	}
	if err := shell.Wait(); err != nil {
		t.Errorf("the program did not end well: %v", err)
	}
}

// greeting is how the program says where it listens.
var greeting = regexp.MustCompile(`The page +(http://\S+)/\n`)

// programOutput is what the program wrote.
type programOutput struct {
	listensAt chan string

	mu   sync.Mutex
	text strings.Builder
	told bool // that it listens
}

// Write implements io.Writer.
func (o *programOutput) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(text)
	if found := greeting.FindStringSubmatch(o.text.String()); found != nil && !o.told {
		o.told = true
		o.listensAt <- found[1]
	}
	return len(text), nil
}

// judge shows what the program of a failed test wrote.
func (o *programOutput) judge(t *testing.T) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if t.Failed() {
		t.Logf("the program wrote:\n%s", o.text.String())
	}
}
