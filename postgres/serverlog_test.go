package postgres

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestServerLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "postgres.log")
	log, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.file.Close() })

	write := func(text string) {
		t.Helper()
		if _, err := log.file.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write("of an earlier server\n")
	if err := log.mark(); err != nil {
		t.Fatal(err)
	}
	write("of this server\n")
	if got := log.sinceMark(); got != "of this server" {
		t.Errorf("since the mark: %q", got)
	}

	write(strings.Repeat("x", maxLogSize))
	if err := log.shorten(); err != nil {
		t.Fatal(err)
	}
	write("after shortening\n")
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "after shortening\n" {
		t.Errorf("the log holds %d bytes (%v), want what came after", len(text), err)
	}
	older, err := os.Stat(path + ".1")
	if err != nil || older.Size() != maxLogSize {
		t.Errorf("the older log: %v, %v", older, err)
	}
}
