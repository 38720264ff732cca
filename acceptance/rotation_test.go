package acceptance_test

import (
	"net/http"
	"sync"
	"testing"
	"time"
)

const (
	rotationBeat     = 200 * time.Millisecond
	rotationPatience = time.Second
)

// rotate does a load balancer's work until the test ends: it keeps asking each node
// whether it is ready, and buyers are sent to those that are.
func rotate(t *testing.T, client *http.Client, nodes []*node) {
	t.Helper()
	var checks sync.WaitGroup
	stop := make(chan struct{})
	for _, n := range nodes {
		n.inRotation.Store(true)
		checks.Go(func() {
			beat := time.NewTicker(rotationBeat)
			defer beat.Stop()
			for {
				select {
				case <-stop:
					return
				case <-beat.C:
					n.inRotation.Store(n.isReady(client, rotationPatience))
				}
			}
		})
	}
	t.Cleanup(func() {
		close(stop)
		checks.Wait()
	})
}
