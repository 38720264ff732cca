package http_test

import (
	"context"
	stdhttp "net/http"
	"runtime"
	"sync"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/uuid"
)

// Clients that come and leave leave nothing behind (FAULTS 25): some before they
// are answered, some after the first event, some in the middle of a long poll. It
// counts the goroutines of the process, so no other test may run beside it: it is
// not parallel.
func TestServer_ClientsLeave(t *testing.T) {
	n := startIdleNode(t)
	id := n.buy(t, n.sale(t, 10, 1), by("42")).RequestID
	request := uuid.MustParse(id)
	n.comeAndLeave(t, id, 100) // whatever is made once is made now
	eventually(t, "the first have left", func() bool { return n.hub.Waiters(request) == 0 })
	before, heapBefore := n.goroutines(), heap()

	n.comeAndLeave(t, id, 10_000)

	eventually(t, "nobody waits", func() bool { return n.hub.Waiters(request) == 0 })
	after := 0
	eventually(t, "the goroutines end", func() bool {
		after = n.goroutines()
		return after <= before+5
	})
	heapAfter := heap()
	t.Logf("%d goroutines and %d KB before, %d and %d after", before, heapBefore>>10, after, heapAfter>>10)
	if grown := heapAfter - heapBefore; grown > 2<<20 {
		t.Errorf("%d KB are left of them", grown>>10)
	}
	if p := n.get(t, "/purchases/"+id).purchase(t, stdhttp.StatusOK); p.Status != "processing" {
		t.Errorf("got %+v", p)
	}
}

// goroutines counts those that run while the client keeps no connection.
func (n *node) goroutines() int {
	n.http.CloseIdleConnections()
	return runtime.NumGoroutine()
}

// heap is what is in use after the garbage is gone.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what pools keep survives the first
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc)
}

// comeAndLeave connects so often, some at a time, and leaves without a result.
func (n *node) comeAndLeave(t *testing.T, id string, times int) {
	t.Helper()
	turns := make(chan int)
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			for turn := range turns {
				n.comeOnce(t, id, turn)
			}
		})
	}
	for turn := range times {
		turns <- turn
	}
	close(turns)
	clients.Wait()
}

func (n *node) comeOnce(t *testing.T, id string, turn int) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	switch turn % 5 {
	case 0: // leaves before the answer, or in its middle
		go func() { runtime.Gosched(); leave() }()
		if response, err := n.send(ctx, stdhttp.MethodGet, "/purchases/"+id+"/events", ""); err == nil {
			_ = response.Body.Close()
		}
	case 1: // leaves a long poll
		go func() { runtime.Gosched(); leave() }()
		_, _ = n.try(ctx, stdhttp.MethodGet, "/purchases/"+id+"?wait=30s", "") // it left
	case 2: // leaves a socket after the first message
		conn, _, err := websocket.Dial(ctx, n.base+"/purchases/"+id+"/ws", &websocket.DialOptions{HTTPClient: n.http})
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		if _, _, err := conn.Read(ctx); err != nil {
			t.Error(err)
		}
	default: // leaves a stream after its first bytes
		response, err := n.send(ctx, stdhttp.MethodGet, "/purchases/"+id+"/events", "")
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := response.Body.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		_ = response.Body.Close()
	}
}
