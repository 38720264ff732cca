package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The major versions of Postgres that the embedded server runs on.
const (
	minMajor = 15
	maxMajor = 18
)

// ErrNotInstalled is returned where no server programs of a fitting version of
// Postgres are found. Its message says what was looked for and where.
var ErrNotInstalled = errors.New("postgres is not installed")

// places are where packages put initdb and postgres when not on PATH.
// scripts/need-postgres.sh looks at the same ones.
var places = []string{
	"/usr/lib/postgresql/*/bin",                       // Debian, Ubuntu
	"/usr/pgsql-*/bin",                                // the PostgreSQL project's own RPMs
	"/usr/lib/postgresql*/bin",                        // openSUSE
	"/usr/libexec/postgresql*",                        // Alpine
	"/opt/homebrew/opt/postgresql@*/bin",              // Homebrew on Apple silicon
	"/usr/local/opt/postgresql@*/bin",                 // Homebrew on Intel
	"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin", // Homebrew on Linux
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// installation is one version's server programs.
type installation struct {
	dir   string
	major int
}

// program returns the path of one of the programs.
func (i installation) program(name string) string {
	return filepath.Join(i.dir, name)
}

// findInstallation returns the first of the directories whose programs are of a
// major version, or of any that is supported if major is 0. It returns
// ErrNotInstalled if there are none that the account can run.
func findInstallation(ctx context.Context, account *account, major int, dirs []string) (installation, error) {
	var others []string
	for _, dir := range dirs {
		found, err := inspect(ctx, account, dir)
		switch {
		case ctx.Err() != nil:
			return installation{}, ctx.Err()
		case err != nil:
			others = append(others, err.Error())
		case found.major == major, major == 0 && minMajor <= found.major && found.major <= maxMajor:
			return found, nil
		default:
			others = append(others, fmt.Sprintf("%d in %s", found.major, dir))
		}
	}
	wanted := fmt.Sprintf("the server programs (initdb, postgres) of a version from %d to %d are neither on PATH nor where packages put them; "+
		"install Postgres (Debian: apt-get install postgresql) or set DATABASE_URL to a server", minMajor, maxMajor)
	if major != 0 {
		wanted = fmt.Sprintf("the data was written by version %d, whose server programs are neither on PATH nor where packages put them; "+
			"install that version, or dump the data with it and restore the dump into another directory", major)
	}
	if len(others) > 0 {
		wanted += fmt.Sprintf("; not suitable: %s", strings.Join(others, ", "))
	}
	return installation{}, fmt.Errorf("%w: %s", ErrNotInstalled, wanted)
}

// candidates returns the directories that hold both programs: those on the path
// in its order, then those that match patterns, the highest version first.
func candidates(path, patterns []string) []string {
	var known []string
	for _, pattern := range patterns {
		matches, _ := filepath.Glob(pattern) // fails on malformed patterns only
		known = append(known, matches...)
	}
	slices.SortStableFunc(known, func(a, b string) int {
		return cmp.Compare(versionInPath(b), versionInPath(a))
	})
	return slices.DeleteFunc(slices.Concat(path, known), func(dir string) bool {
		return !filepath.IsAbs(dir) || !isFile(filepath.Join(dir, "initdb")) || !isFile(filepath.Join(dir, "postgres"))
	})
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

var number = regexp.MustCompile(`\d+`)

// versionInPath returns the last number in a path, such as the 15 in
// /usr/lib/postgresql/15/bin, and 0 if there is none.
func versionInPath(path string) int {
	numbers := number.FindAllString(path, -1)
	if len(numbers) == 0 {
		return 0
	}
	version, _ := strconv.Atoi(numbers[len(numbers)-1]) // fails on absurd numbers only
	return version
}

// inspect asks the programs in a directory for their version, as the account
// that will run them. Where they are links, the others, such as pg_dump, are
// beside what the links lead to.
func inspect(ctx context.Context, account *account, dir string) (installation, error) {
	if target, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres")); err == nil && isFile(filepath.Join(filepath.Dir(target), "initdb")) {
		dir = filepath.Dir(target)
	}
	output, err := account.command(ctx, "/", filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return installation{}, fmt.Errorf("%s (%w)", dir, err)
	}
	// "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"
	major, err := strconv.Atoi(number.FindString(string(output)))
	if err != nil {
		return installation{}, fmt.Errorf("%s (version %q)", dir, output)
	}
	return installation{dir: dir, major: major}, nil
}
