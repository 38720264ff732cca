package postgres

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	pidFileName = "postmaster.pid"
	socketName  = ".s.PGSQL." + socketPort
	socketPort  = "5432"
)

// leftRunning returns the server that an earlier program left running on the
// data, and where its socket is; nil if there is none.
func (d *dataDir) leftRunning() (server *process, socketDir string, err error) {
	text, err := os.ReadFile(filepath.Join(d.cluster(), pidFileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	// The process ID, the data directory, the start time, the port, the socket's
	// directory; a server that has only begun to start has written fewer lines.
	lines := strings.Split(string(text), "\n")
	pid, _ := strconv.Atoi(strings.TrimSpace(lines[0])) // 0, which serves nothing, if the file is broken
	if !serves(pid, d.cluster()) {
		return nil, "", nil
	}
	if len(lines) > 4 {
		socketDir = strings.TrimSpace(lines[4])
	}
	server, err = adoptProcess(pid, d.cluster())
	return server, socketDir, err
}

// removeStale removes what a server leaves when it is killed. Postgres does so
// itself unless another process has its ID by now: then it takes that for a
// server and refuses to start. To be called only if no server is running.
func (d *dataDir) removeStale(socketDir string) error {
	for _, path := range []string{
		filepath.Join(d.cluster(), pidFileName),
		filepath.Join(socketDir, socketName),
		filepath.Join(socketDir, socketName+".lock"),
	} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// serves reports whether a process is the Postgres server of a cluster. Its
// command line tells, which any user may read and which a process that has ended
// no longer has. Process IDs are used again, so that there is such a process
// means nothing.
func serves(pid int, cluster string) bool {
	return strings.Contains(commandLine(pid)+" ", " -D "+cluster+" ")
}
