package load

import (
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"seckill/load/noop"
)

func TestListeningPID(t *testing.T) {
	t.Parallel()
	needProc(t)
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			continue // a machine without IPv6
		}
		defer listener.Close()
		port := uint16(listener.Addr().(*net.TCPAddr).Port)
		if pid := listeningPID(port); pid != os.Getpid() {
			t.Errorf("listeningPID(%s) = %d, want %d", listener.Addr(), pid, os.Getpid())
		}
	}
	if pid := listeningPID(1); pid != 0 {
		t.Errorf("listeningPID of a port that nobody listens on = %d", pid)
	}
}

func TestReadUsage(t *testing.T) {
	t.Parallel()
	needProc(t)
	before, err := ReadUsage("self")
	if err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); time.Since(start) < 10*clockTick; {
	}
	after, err := ReadUsage("self")
	if err != nil {
		t.Fatal(err)
	}
	if after.CPU <= before.CPU || after.Resident < 1<<20 {
		t.Errorf("usage was %+v, then %+v after some work", before, after)
	}
}

func TestRun_ReportsUsage(t *testing.T) {
	t.Parallel()
	needProc(t)
	report := mustRun(t, Config{Target: serve(t, noop.New()), Buyers: 2, Duration: 300 * time.Millisecond, Stock: 1_000_000})
	// The test's server is a part of this process.
	if report.Server == nil || report.Server.PID != os.Getpid() || report.Server.PeakMemory == 0 {
		t.Errorf("server = %+v", report.Server)
	}
	if report.Client == nil || report.Client.Cores <= 0 {
		t.Errorf("client = %+v", report.Client)
	}
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"accepted", "told", "POST to 202", "confirmed", "server:", "client:", "kept"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
}

func needProc(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("usage is read from /proc")
	}
}
