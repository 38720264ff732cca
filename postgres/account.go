package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is who runs the server's programs where this program is root, which
// Postgres refuses to be. A nil account stands for this program's own user.
type account struct {
	name     string
	uid, gid uint32
}

// serverAccount returns the account for the cluster in a directory, nil if this
// program is not root. An existing cluster stays with its owner; a new one goes
// to the account postgres, else to nobody.
func serverAccount(cluster string) (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	if info, err := os.Stat(cluster); err == nil {
		if owner := ownerOf(info); owner.uid != 0 {
			return owner, nil
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		if found, err := accountNamed(name); err == nil {
			return found, nil
		}
	}
	return nil, errors.New("root may not run Postgres, and this system has no account named postgres or nobody to run it as")
}

func accountNamed(name string) (*account, error) {
	found, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
}

func ownerOf(info fs.FileInfo) *account {
	stat := info.Sys().(*syscall.Stat_t)
	name := strconv.FormatUint(uint64(stat.Uid), 10)
	if found, err := user.LookupId(name); err == nil {
		name = found.Username
	}
	return &account{name: name, uid: stat.Uid, gid: stat.Gid}
}

// command prepares a program to run as the account in a directory. Ctrl-C in a
// terminal does not reach it, and it sees nothing of this program's environment
// but what it needs to start: the environment may hold secrets.
func (a *account) command(ctx context.Context, dir, program string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, arguments...)
	cmd.Dir = dir
	cmd.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH"), "LD_LIBRARY_PATH=" + os.Getenv("LD_LIBRARY_PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if a != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return cmd
}

// own gives a file to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Lchown(path, int(a.uid), int(a.gid))
}

// ownAll gives a directory and everything in it to the account. The directory
// itself comes last: whoever finds it given knows that all of it is.
func (a *account) ownAll(root string) error {
	if a == nil {
		return nil
	}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		return a.own(path)
	})
	if err != nil {
		return err
	}
	return a.own(root)
}

// explain names the directory that keeps the account from a path where starting
// a program failed for lack of permission; other errors stay as they are. It is
// asked after the fact, for permission bits are not all that decides.
func (a *account) explain(err error, paths ...string) error {
	if a == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	for _, path := range paths {
		for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
			info, statErr := os.Stat(dir)
			if statErr == nil && !a.mayEnter(info) {
				return fmt.Errorf("%w: the account %s, which runs Postgres in place of root, may not enter %s (%s): choose another directory or allow it by chmod o+x",
					err, a.name, dir, info.Mode())
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return err
}

func (a *account) mayEnter(info fs.FileInfo) bool {
	stat := info.Sys().(*syscall.Stat_t)
	switch {
	case stat.Uid == a.uid:
		return info.Mode()&0o100 != 0
	case stat.Gid == a.gid:
		return info.Mode()&0o010 != 0
	default:
		return info.Mode()&0o001 != 0
	}
}
