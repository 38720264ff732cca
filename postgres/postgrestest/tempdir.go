package postgrestest

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// janitor is a shell script that waits until this program has ended, which
// closes the script's input, and then ends the servers and removes the directory
// that the program was prevented from removing: a test that panics or is
// interrupted runs no cleanups.
const janitor = `
	cat >/dev/null
	for file in "$1"/*/cluster/postmaster.pid; do
		[ -e "$file" ] && kill -QUIT "$(head -n 1 "$file")" && sleep 1
	done
	rm -rf "$1"
`

// tempDir is the directory for all servers of this test run.
type tempDir struct {
	path    string
	janitor *exec.Cmd
	input   io.Closer // of the janitor
}

// temp is this test run's tempDir once somebody has needed it.
var temp struct {
	sync.Mutex
	dir *tempDir
}

// makeTempDir makes a directory that a server's account can reach, which those
// of testing.TB are not for root.
func makeTempDir() (string, error) {
	temp.Lock()
	defer temp.Unlock()
	if temp.dir == nil {
		dir, err := openTempDir()
		if err != nil {
			return "", err
		}
		temp.dir = dir
	}
	path, err := os.MkdirTemp(temp.dir.path, "")
	if err != nil {
		return "", err
	}
	return path, os.Chmod(path, 0o711)
}

// removeTempDir removes all directories.
func removeTempDir() error {
	temp.Lock()
	defer temp.Unlock()
	if temp.dir == nil {
		return nil
	}
	return errors.Join(os.RemoveAll(temp.dir.path), temp.dir.input.Close(), temp.dir.janitor.Wait())
}

func openTempDir() (*tempDir, error) {
	path, err := os.MkdirTemp("", "seckill-test-")
	if err != nil {
		return nil, err
	}
	// As root the servers run as another user, who has to get to the data.
	if err := os.Chmod(path, 0o711); err != nil {
		return nil, err
	}
	cmd := exec.Command("sh", "-c", janitor, "janitor", path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // out of reach of Ctrl-C
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return &tempDir{path: path, janitor: cmd, input: input}, cmd.Start()
}
