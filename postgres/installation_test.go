package postgres

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFindInstallation(t *testing.T) {
	t.Parallel()
	root := testDir(t)
	// install makes what looks like the programs of a version and returns where.
	install := func(t *testing.T, dir, version string) string {
		t.Helper()
		dir = filepath.Join(root, dir)
		if err := makeDir(dir); err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/sh\necho 'postgres (PostgreSQL) " + version + "'\n"
		for _, program := range []string{"initdb", "postgres"} {
			if err := os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	old := install(t, "old/9/bin", "9.6.24")
	fifteen := install(t, "pg/15/bin", "15.18 (Debian 15.18-0+deb12u1)")
	eighteen := install(t, "pg/18/bin", "18beta1")
	onPath := install(t, "path", "16.3")
	if err := makeDir(filepath.Join(root, "pg/99/bin")); err != nil { // without programs
		t.Fatal(err)
	}
	account, err := serverAccount(root)
	if err != nil {
		t.Fatal(err)
	}

	t.Run("PathThenHighestVersion", func(t *testing.T) {
		t.Parallel()
		pattern := filepath.Join(root, "pg/*/bin")
		got := candidates([]string{"relative", onPath, root}, []string{pattern})
		if want := []string{onPath, eighteen, fifteen}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})

	for name, test := range map[string]struct {
		dirs  []string
		major int
		want  installation
	}{
		"FirstThatIsSupported": {dirs: []string{old, eighteen, fifteen}, want: installation{eighteen, 18}},
		"TheVersionOfTheData":  {dirs: []string{eighteen, fifteen}, major: 15, want: installation{fifteen, 15}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := findInstallation(t.Context(), account, test.major, test.dirs)
			if err != nil || got != test.want {
				t.Errorf("got %v, %v; want %v", got, err, test.want)
			}
		})
	}

	t.Run("SaysWhatItFoundInstead", func(t *testing.T) {
		t.Parallel()
		_, err := findInstallation(t.Context(), account, 0, []string{old})
		if !errors.Is(err, ErrNotInstalled) || !strings.Contains(err.Error(), "9 in "+old) {
			t.Errorf("got %v", err)
		}
	})
}

// TestPlaces keeps the search of the program and that of its installer alike.
func TestPlaces(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../scripts/need-postgres.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range places {
		if !strings.Contains(string(script), place) {
			t.Errorf("scripts/need-postgres.sh does not look in %s", place)
		}
	}
}
