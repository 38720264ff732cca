package postgres

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const settingsName = "seckill.conf"

const settingsHeading = `# Seckill writes this file anew at every start. To change a setting for good, use
# ALTER SYSTEM: what it writes to postgresql.auto.conf comes after this file.

`

// defaultSettings are what the embedded server runs with beyond Postgres's own
// defaults: a write-heavy service on one machine, beside the program itself.
func defaultSettings(socketDir string) map[string]string {
	return map[string]string{
		// Only this program's user can connect.
		"listen_addresses":        "",
		"port":                    socketPort,
		"unix_socket_directories": socketDir,
		"unix_socket_permissions": "0700",

		// An accepted request survives a crash of the machine.
		"fsync":              "on",
		"full_page_writes":   "on",
		"synchronous_commit": "on",

		// A sale's rush is minutes long: no checkpoint should have to hurry in it.
		"checkpoint_timeout": "15min",
		"max_wal_size":       "2GB",
		"wal_buffers":        "16MB",
		"wal_compression":    "on",

		"max_connections":  "300",
		"random_page_cost": "1.1", // flash storage
		"shared_buffers":   "256MB",
		"jit":              "off", // compiling costs more than any of the short queries

		// The queue's rows live for milliseconds, so dead ones pile up quickly.
		"autovacuum_analyze_scale_factor": "0.05",
		"autovacuum_naptime":              "15s",
		"autovacuum_vacuum_cost_limit":    "1000",
		"autovacuum_vacuum_scale_factor":  "0.05",

		"log_line_prefix": "%m [%p] %a ",
		"log_timezone":    "UTC",
		"timezone":        "UTC",
	}
}

// writeSettings writes the cluster's settings: the defaults, then what overrides
// them.
func (d *dataDir) writeSettings(socketDir string, overrides map[string]string) error {
	settings := defaultSettings(socketDir)
	maps.Copy(settings, overrides)

	var text strings.Builder
	text.WriteString(settingsHeading)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&text, "%s = '%s'\n", name, quoteSetting.Replace(settings[name]))
	}

	path := filepath.Join(d.cluster(), settingsName)
	if err := os.WriteFile(path+".new", []byte(text.String()), 0o600); err != nil {
		return err
	}
	if err := d.account.own(path + ".new"); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

var quoteSetting = strings.NewReplacer(`'`, `''`, `\`, `\\`)
