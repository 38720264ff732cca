//go:build unix

package http

import "syscall"

// maxOpenFiles is how many files the process may open, or 0 for so many that it
// does not matter.
func maxOpenFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > 1<<24 {
		return 0
	}
	return int(limit.Cur)
}
