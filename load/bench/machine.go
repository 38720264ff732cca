package bench

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine describes where the figures come from, as far as the system tells.
func Machine() string {
	parts := []string{
		fmt.Sprintf("%s, %d cores", processor(), runtime.NumCPU()),
		runtime.GOOS + "/" + runtime.GOARCH,
	}
	if memory := field("/proc/meminfo", "MemTotal"); memory != "" {
		var kilobytes float64
		if _, err := fmt.Sscan(memory, &kilobytes); err == nil {
			parts = append(parts, fmt.Sprintf("%.0f GB of memory", kilobytes/1e6))
		}
	}
	return strings.Join(parts, ", ")
}

// Busy is how busy the machine has been in the last minute, or "" where the
// system does not tell.
func Busy() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	average, _, _ := strings.Cut(string(data), " ")
	return average
}

func processor() string {
	if model := field("/proc/cpuinfo", "model name"); model != "" {
		return model
	}
	return "a processor without a name"
}

// field is the value of the first line with that name in a file of lines such as
// "name : value", or "".
func field(file, name string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
