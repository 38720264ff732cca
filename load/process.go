package load

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU times in /proc, for every Linux architecture that
// Go runs on.
const clockTick = 10 * time.Millisecond

// ProcessUsage is what a process has used up to now. On systems without /proc it
// cannot be read.
type ProcessUsage struct {
	CPU      time.Duration
	Resident int64 // bytes
}

// ReadUsage reads the usage of a process ID, or of "self".
func ReadUsage(pid string) (ProcessUsage, error) {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return ProcessUsage{}, err
	}
	// The second field is the program's name in parentheses and may hold anything;
	// what follows the last parenthesis begins with the third field.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const user, system, resident = 14 - 3, 15 - 3, 24 - 3
	if len(fields) <= resident {
		return ProcessUsage{}, fmt.Errorf("/proc/%s/stat: too short", pid)
	}
	var values [3]int64
	for i, field := range []int{user, system, resident} {
		if values[i], err = strconv.ParseInt(fields[field], 10, 64); err != nil {
			return ProcessUsage{}, fmt.Errorf("/proc/%s/stat: %w", pid, err)
		}
	}
	return ProcessUsage{
		CPU:      time.Duration(values[0]+values[1]) * clockTick,
		Resident: values[2] * int64(os.Getpagesize()),
	}, nil
}

// listeningPID finds the process that listens on a port of this machine. It
// returns 0 where it cannot tell, as for a process of somebody else.
func listeningPID(port uint16) int {
	sockets := make(map[string]bool)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		listeningSockets(table, port, sockets)
	}
	if len(sockets) == 0 {
		return 0
	}
	descriptors, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is well-formed
	for _, descriptor := range descriptors {
		if link, err := os.Readlink(descriptor); err == nil && sockets[link] {
			pid, _ := strconv.Atoi(strings.Split(descriptor, "/")[2]) // digits, by the pattern
			return pid
		}
	}
	return 0
}

// listeningSockets adds, by the name they have in /proc/*/fd, the sockets of a
// table that listen on a port.
func listeningSockets(table string, port uint16, into map[string]bool) {
	file, err := os.Open(table)
	if err != nil {
		return
	}
	defer file.Close()
	const local, state, inode, listen = 1, 3, 9, "0A"
	suffix := fmt.Sprintf(":%04X", port)
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > inode && fields[state] == listen && strings.HasSuffix(fields[local], suffix) {
			into["socket:["+fields[inode]+"]"] = true
		}
	}
}
