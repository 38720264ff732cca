package load

import (
	"syscall"
	"time"
)

// nap sleeps for a short while, more exactly than the runtime's timers do: those
// are a whole millisecond late where nothing else wakes the program.
func nap(d time.Duration) {
	if d > 0 {
		wanted := syscall.NsecToTimespec(int64(d))
		_ = syscall.Nanosleep(&wanted, nil) // one that is cut short only comes early
	}
}
