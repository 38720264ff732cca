package postgres

import (
	"bufio"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// testSettings make a server quick to create.
var testSettings = map[string]string{"fsync": "off", "shared_buffers": "16MB"}

// testDir returns a data directory, not yet made, that the server's account can
// reach, which t.TempDir's are not for root.
func testDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "seckill-embedded-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "data")
}

func start(t *testing.T, dir string) *Embedded {
	t.Helper()
	server, err := StartEmbedded(t.Context(), EmbeddedConfig{DataDir: dir, Settings: testSettings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, server) })
	return server
}

func stop(t *testing.T, server *Embedded) {
	t.Helper()
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}

// queryText returns the first column of a query's first row, "" if there is none.
func queryText(t *testing.T, server *Embedded, query string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return strings.Join(texts, "")
}

func socketDirOf(t *testing.T, server *Embedded) string {
	t.Helper()
	address, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	return address.Query().Get("host")
}

// startProgram starts another program that runs a server on the directory. It
// returns the program and the process ID of the server.
func startProgram(t *testing.T, dir string) (program *os.Process, serverPID int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), runEnv+"="+dir)
	cmd.Stderr = os.Stderr
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatalf("the program did not start a server: %v", err)
	}
	serverPID, err = strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process, serverPID
}

func copyProgram(to string) (err error) {
	from, err := os.Open(os.Args[0])
	if err != nil {
		return err
	}
	defer from.Close()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}

func lookUp(t *testing.T, name string) *account {
	t.Helper()
	found, err := accountNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
