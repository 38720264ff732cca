package acceptance_test

import (
	"strings"
	"sync"
	"testing"
)

// shownLines is how much of a log is shown.
const shownLines = 80

// nodeLog is what a node's processes wrote.
type nodeLog struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *nodeLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

// judge fails the test for what no log may contain, and shows the log of a failed
// test.
func (l *nodeLog) judge(t *testing.T, name string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text.String()
	for _, fatal := range []string{"WARNING: DATA RACE", "panic:", "msg=panicked", "fatal error:", "SQLSTATE 42501"} {
		if at := strings.Index(text, fatal); at >= 0 {
			t.Errorf("node %s: %s", name, head(text[at:], shownLines))
		}
	}
	if t.Failed() {
		t.Logf("log of node %s:\n%s", name, tail(text, shownLines))
	}
}

func head(text string, lines int) string {
	all := strings.SplitAfter(text, "\n")
	return strings.Join(all[:min(len(all), lines)], "")
}

func tail(text string, lines int) string {
	all := strings.SplitAfter(text, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "")
}
