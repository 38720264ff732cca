//go:build !linux

package postgres

import (
	"os/exec"
	"strconv"
	"strings"
)

// commandLine returns a process's program and arguments with spaces between
// them, "" if there is no such process.
func commandLine(pid int) string {
	output, err := exec.Command("ps", "-ww", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(output))
}
