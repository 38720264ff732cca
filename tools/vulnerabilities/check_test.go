// Package vulnerabilities_test checks that the check for known vulnerabilities can fail.
package vulnerabilities_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A vulnerability of what domain calls, as the database writes it.
const entry = `{
	"schema_version": "1.3.1", "id": "GO-2099-0001", "modified": "2099-01-01T00:00:00Z", "published": "2099-01-01T00:00:00Z",
	"summary": "The time of day is known", "details": "The time of day is known.",
	"affected": [{
		"package": {"name": "stdlib", "ecosystem": "Go"},
		"ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}]}],
		"ecosystem_specific": {"imports": [{"path": "time", "symbols": ["SYMBOL"]}]}
	}],
	"database_specific": {"url": "https://pkg.go.dev/vuln/GO-2099-0001"}
}`

func TestCheckVulnerabilities(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, environment, want string
		passes                  bool
	}{
		{"Called", "GOVULNDB=" + database(t, "Time.Add"), "GO-2099-0001", false},
		{"NotCalled", "GOVULNDB=" + database(t, "Time.GobEncode"), "affected by 0 vulnerabilities", true},
		{"DatabaseBroken", "GOVULNDB=file://" + filepath.Join(t.TempDir(), "none"), "", false},
		{"DatabaseOutOfReach", "HTTPS_PROXY=http://127.0.0.1:1", "NOT CHECKED", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "scripts/check-vulnerabilities.sh", "./domain")
			cmd.Dir = "../.."
			cmd.Env = append(os.Environ(), test.environment)
			output, err := cmd.CombinedOutput()
			if (err == nil) != test.passes || !strings.Contains(string(output), test.want) {
				t.Errorf("%v, want it to pass: %t, and to say %q:\n%s", err, test.passes, test.want, output)
			}
		})
	}
}

// database makes one that knows one vulnerability, and returns its URL.
func database(t *testing.T, symbol string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "GO-2099-0001.json"), []byte(strings.Replace(entry, "SYMBOL", symbol, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return "file://" + dir
}
