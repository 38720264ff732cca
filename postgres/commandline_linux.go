package postgres

import (
	"fmt"
	"os"
	"strings"
)

// commandLine returns a process's program and arguments with spaces between
// them, "" if there is no such process.
func commandLine(pid int) string {
	arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(string(arguments), "\x00", " "))
}
