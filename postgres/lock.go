package postgres

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// ErrInUse is returned where another program has the data directory.
var ErrInUse = errors.New("the data directory is in use")

// lockFile takes a file's lock, which ends with the file or with this program,
// however it ends: the server, which outlives a killed program, does not inherit
// it. It returns ErrInUse if another program holds the lock.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		holder, _ := os.ReadFile(path)
		return nil, fmt.Errorf("%w: another program holds %s (process %s)", ErrInUse, path, strings.TrimSpace(string(holder)))
	}
	// Who holds it is for the other program's message only.
	if err := file.Truncate(0); err == nil {
		_, _ = fmt.Fprintln(file, os.Getpid())
	}
	return file, nil
}
