package browser_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// link is what lies between a page and the service.
type link struct {
	url string // of the service, through the link

	mu    sync.Mutex
	down  bool // nothing gets through
	conns []net.Conn
}

// startLink starts a link to a service.
func startLink(t *testing.T, service string) *link {
	t.Helper()
	to, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{url: "http://" + listener.Addr().String()}
	var running sync.WaitGroup
	t.Cleanup(func() { _ = listener.Close(); l.setDown(true); running.Wait() })
	running.Go(func() {
		for {
			page, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { l.carry(page, to.Host) })
		}
	})
	return l
}

func (l *link) carry(page net.Conn, to string) {
	defer page.Close()
	service, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer service.Close()
	l.mu.Lock()
	if l.down {
		l.mu.Unlock()
		return
	}
	l.conns = append(l.conns, page, service)
	l.mu.Unlock()
	go func() {
		_, _ = io.Copy(service, page)
		_ = service.Close()
	}()
	_, _ = io.Copy(page, service)
}

// setDown cuts the link with all that goes over it, or mends it.
func (l *link) setDown(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
	for _, conn := range l.conns {
		_ = conn.Close()
	}
	l.conns = nil
}
