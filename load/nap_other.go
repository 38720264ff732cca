//go:build !linux

package load

import "time"

// nap sleeps for a short while.
func nap(d time.Duration) { time.Sleep(d) }
