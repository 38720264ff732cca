package postgres

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxSocketPath is the longest path of a Unix socket that works everywhere:
// Linux takes 107 bytes, macOS 103.
const maxSocketPath = 103

// DefaultDataDir returns where the embedded server keeps its data unless told
// otherwise: /var/lib/seckill for root, else seckill in the user's cache
// directory. It returns an error if the user has none.
func DefaultDataDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/seckill", nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("choose a data directory: %w", err)
	}
	return filepath.Join(cache, "seckill"), nil
}

// dataDir is the directory with everything that the embedded server keeps,
// locked for this program:
//
//	cluster/        Postgres's own data directory
//	lock            held by the program that runs the server
//	postgres.log    what the server writes; before it grew too long, postgres.log.1
//	run/            the server's socket
type dataDir struct {
	account *account
	lock    *os.File
	root    string // absolute, free of symbolic links
}

// openDataDir makes the directory if needed and locks it. It returns ErrInUse if
// another program holds the lock.
func openDataDir(path string) (*dataDir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := makeDir(path); err != nil {
		return nil, err
	}
	root, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	lock, err := lockFile(filepath.Join(root, "lock"))
	if err != nil {
		return nil, err
	}
	dir := &dataDir{lock: lock, root: root}
	dir.account, err = serverAccount(dir.cluster())
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return dir, nil
}

// makeDir makes a directory and those above it, none of which others can list.
// Where root makes them, others may pass through, for the server is not root's;
// directories that exist already stay as they are.
func makeDir(path string) error {
	mode := fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	err := os.Mkdir(path, mode)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeDir(filepath.Dir(path)); err != nil {
			return err
		}
		err = os.Mkdir(path, mode)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	default:
		return os.Chmod(path, mode) // the umask may have taken more than wanted
	}
}

func (d *dataDir) cluster() string {
	return filepath.Join(d.root, "cluster")
}

func (d *dataDir) log() string {
	return filepath.Join(d.root, "postgres.log")
}

// major returns the version of Postgres that wrote the cluster, 0 if there is
// no cluster yet.
func (d *dataDir) major() (int, error) {
	text, err := os.ReadFile(filepath.Join(d.cluster(), "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("version of the cluster in %s: %w", d.cluster(), err)
	}
	return major, nil
}

// socketDir makes the directory of the server's socket, which nobody else may
// enter: whoever can connect is the owner of the database. It lies in the data
// directory, or in the system's temporary one if the path would be too long.
func (d *dataDir) socketDir() (string, error) {
	dir := socketDirFor(d.root)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	// Anybody may have made it first in a temporary directory.
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	owner := ownerOf(info)
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !d.trusts(owner) {
		return "", fmt.Errorf("the socket's directory %s is not private (%s, owner %s): remove it", dir, info.Mode(), owner.name)
	}
	return dir, d.account.own(dir)
}

// socketDirFor is where the server with that data directory has its socket.
func socketDirFor(root string) string {
	dir := filepath.Join(root, "run")
	if fitsSocket(dir) {
		return dir
	}
	sum := sha256.Sum256([]byte(root))
	name := fmt.Sprintf("seckill-%x", sum[:8])
	if dir = filepath.Join(os.TempDir(), name); fitsSocket(dir) {
		return dir
	}
	return filepath.Join("/tmp", name)
}

func (d *dataDir) trusts(owner *account) bool {
	return int(owner.uid) == os.Geteuid() || d.account != nil && owner.uid == d.account.uid
}

// fitsSocket also refuses a comma, which separates hosts in a connection string
// and directories in the server's settings.
func fitsSocket(dir string) bool {
	return len(filepath.Join(dir, socketName)) <= maxSocketPath && !strings.Contains(dir, ",")
}

// removeSocketDir removes the socket's directory if it is not in the data
// directory and therefore litter once the server is gone.
func (d *dataDir) removeSocketDir(dir string) error {
	if filepath.Dir(dir) == d.root {
		return nil
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
