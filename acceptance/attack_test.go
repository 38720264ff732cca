package acceptance_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"seckill/load"
)

const (
	// attackLasts is for how long a node is attacked and sells at the same time.
	attackLasts = 4 * time.Second
	// cutOffWithin is when a connection that dribbles has to be closed: after five
	// seconds, on a machine that is busy.
	cutOffWithin = 10 * time.Second
	// maxIdleBytes is what an idle connection may take with the race detector, which
	// takes several times as much as the program itself.
	maxIdleBytes = 200 << 10
	// buyersRest keeps the sale small enough for all rules to be checked in the end.
	buyersRest = 100 * time.Millisecond
	// soldWithin is how long the slowest purchase may take under attack.
	soldWithin = 4 * time.Second
)

// TestAttacks sells while somebody does what ties servers up. Attackers and service
// share a machine, so buyers are somewhat slower; but nobody is refused, and nobody
// waits for long.
func TestAttacks(t *testing.T) {
	s := startService(t, 1)
	n := s.nodes[0]
	sale := s.schedule(t, plan{Stock: 1_000_000, PerUserLimit: 1})
	for _, attack := range []struct {
		name string
		run  func(ctx context.Context, t *testing.T, n *node) (says string)
	}{
		{"None", func(context.Context, *testing.T, *node) string { return "nobody attacks" }},
		{"IdleConnections", holdIdle},
		{"SlowHeaders", dribbleHeaders},
		{"SlowBodies", dribbleBodies},
		{"HugeBodies", floodBodies},
		{"EndlessHeaders", floodHeaders},
	} {
		t.Run(attack.name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			says := attack.run(ctx, t, n)
			before := residentOf(n)
			sold := s.sell(t, n, sale, attack.name)
			stop()
			if last := sold[len(sold)-1]; last > soldWithin {
				t.Errorf("the slowest purchase took %s, want at most %s", last, soldWithin)
			}
			t.Logf("%s: %.0f purchases/s, told after %s (median), %s (99 %%), %s (slowest); %d MB resident", says,
				float64(len(sold))/attackLasts.Seconds(), sold[len(sold)/2], sold[len(sold)*99/100], sold[len(sold)-1], max(before, residentOf(n))>>20)
		})
	}
	s.conclude(t)
}

// sell has twenty buyers buy again and again, each waiting for the result and resting
// then, and returns how long each of them waited, sorted.
func (s *service) sell(t *testing.T, n *node, sale int64, crowd string) []time.Duration {
	t.Helper()
	var mu sync.Mutex
	var took []time.Duration
	var buyers sync.WaitGroup
	until := time.Now().Add(attackLasts)
	for buyer := range 20 {
		buyers.Go(func() {
			for i := 0; time.Now().Before(until); i++ {
				begun := time.Now()
				accepted, err := s.buy(t.Context(), n, order{sale: sale, user: fmt.Sprintf("%s-%d-%d", crowd, buyer, i), quantity: 1})
				if err == nil {
					accepted, err = s.ask(t.Context(), n, accepted.RequestID, pollWait)
				}
				if err != nil || accepted.Status != succeeded {
					t.Errorf("a purchase became %q: %v", accepted.Status, err)
					return
				}
				mu.Lock()
				took = append(took, time.Since(begun).Round(100*time.Microsecond))
				mu.Unlock()
				time.Sleep(buyersRest)
			}
		})
	}
	buyers.Wait()
	if len(took) == 0 {
		t.Fatal("nothing was sold")
	}
	slices.Sort(took)
	return took
}

// residentOf is how much memory a node has, or 0 where that cannot be read.
func residentOf(n *node) int64 {
	usage, err := load.ReadUsage(strconv.Itoa(n.process.Pid))
	if err != nil {
		return 0
	}
	return usage.Resident
}

// holdIdle keeps ten thousand connections that have asked for something once, or as many
// as the files of this process allow.
func holdIdle(ctx context.Context, t *testing.T, n *node) string {
	t.Helper()
	count := 10_000
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	if files.Max < uint64(count)+2_000 {
		count = int(files.Max) - 2_000
	}
	before := residentOf(n)
	idle := make([]net.Conn, count)
	var dialing sync.WaitGroup
	for worker := range 50 {
		dialing.Go(func() {
			for i := worker; i < count; i += 50 {
				conn, err := dialAndAsk(ctx, n)
				if err != nil {
					t.Errorf("connection %d: %v", i, err)
					return
				}
				idle[i] = conn
			}
		})
	}
	dialing.Wait()
	t.Cleanup(func() {
		for _, conn := range idle {
			if conn != nil {
				_ = conn.Close()
			}
		}
	})
	grown := residentOf(n) - before
	if each := grown / int64(count); each > maxIdleBytes {
		t.Errorf("an idle connection takes %d bytes", each)
	}
	return fmt.Sprintf("%d idle connections of %d bytes each", count, grown/int64(count))
}

func dialAndAsk(ctx context.Context, n *node) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", n.address)
	if err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: shop\r\n\r\n"); err != nil {
		return conn, err
	}
	answer, err := http.ReadResponse(bufio.NewReaderSize(conn, 512), nil)
	if err != nil {
		return conn, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return conn, err
}

// dribbleHeaders is the attack called slow loris.
func dribbleHeaders(ctx context.Context, t *testing.T, n *node) string {
	t.Helper()
	return dribble(ctx, t, n, "GET /sales HTTP/1.1\r\nHost: shop\r\nX-A: ")
}

func dribbleBodies(ctx context.Context, t *testing.T, n *node) string {
	t.Helper()
	return dribble(ctx, t, n, "POST /sales/1001/purchases HTTP/1.1\r\nHost: shop\r\nContent-Type: application/json\r\nContent-Length: 10000\r\n\r\n{")
}

// dribble opens a thousand connections that begin like that and go on a byte a second.
// All must be cut off; the test waits for that before it ends.
func dribble(ctx context.Context, t *testing.T, n *node, begin string) string {
	t.Helper()
	const count = 1000
	var longest atomic.Int64
	var dribbling sync.WaitGroup
	for range count {
		dribbling.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", n.address)
			if err != nil {
				t.Errorf("dribble: %v", err)
				return
			}
			defer conn.Close()
			begun := time.Now()
			cut := make(chan struct{})
			go func() {
				defer close(cut)
				_, _ = io.Copy(io.Discard, conn)
			}()
			_, _ = io.WriteString(conn, begin) // if it is cut already, cut says so
			for time.Since(begun) < 3*cutOffWithin {
				select {
				case <-cut:
					for old := longest.Load(); int64(time.Since(begun)) > old && !longest.CompareAndSwap(old, int64(time.Since(begun))); {
						old = longest.Load()
					}
					return
				case <-time.After(time.Second):
					_, _ = io.WriteString(conn, "x")
				}
			}
			t.Error("a connection that dribbles stays open")
		})
	}
	t.Cleanup(func() {
		dribbling.Wait()
		last := time.Duration(longest.Load()).Round(time.Millisecond)
		if last > cutOffWithin {
			t.Errorf("the last of them was cut off after %s, want 5s", last)
		}
		t.Logf("the last of them was cut off after %s", last)
	})
	return fmt.Sprintf("%d connections that dribble", count)
}

// floodBodies sends bodies of a hundred megabytes, again and again.
func floodBodies(ctx context.Context, t *testing.T, n *node) string {
	t.Helper()
	return flood(ctx, t, n, "POST /sales/1001/purchases HTTP/1.1\r\nHost: shop\r\nContent-Type: application/json\r\nContent-Length: 104857600\r\n\r\n",
		strings.Repeat(" ", 64<<10), 100<<20)
}

// floodHeaders sends headers that do not end.
func floodHeaders(ctx context.Context, t *testing.T, n *node) string {
	t.Helper()
	return flood(ctx, t, n, "GET /sales HTTP/1.1\r\nHost: shop\r\n", strings.Repeat("X-Flood: "+strings.Repeat("y", 1000)+"\r\n", 20), 100<<20)
}

// flood has some attackers send so much each, and begin anew when they are cut off. No
// connection may take more than what its buffers hold.
func flood(ctx context.Context, t *testing.T, n *node, begin, more string, bytes int) string {
	t.Helper()
	const attackers = 8
	var tries, most atomic.Int64
	var flooding sync.WaitGroup
	for range attackers {
		flooding.Go(func() {
			for ctx.Err() == nil {
				conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", n.address)
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Errorf("flood: %v", err)
					}
					return
				}
				tries.Add(1)
				sent := int64(0)
				_ = conn.SetWriteDeadline(time.Now().Add(cutOffWithin))
				_, err = io.WriteString(conn, begin)
				for err == nil && sent < int64(bytes) && ctx.Err() == nil {
					var written int
					written, err = io.WriteString(conn, more)
					sent += int64(written)
				}
				_ = conn.Close()
				if sent > most.Load() {
					most.Store(sent)
				}
			}
		})
	}
	t.Cleanup(func() {
		flooding.Wait()
		if most.Load() > 16<<20 {
			t.Errorf("a connection took %d bytes", most.Load())
		}
		t.Logf("%d floods; the largest got rid of %d KB", tries.Load(), most.Load()>>10)
	})
	return fmt.Sprintf("%d attackers who flood", attackers)
}
