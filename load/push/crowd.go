package push

import (
	"context"
	"fmt"
	"net/url"
	"sync"
)

// openers are how many connect at the same time.
const openers = 32

// crowd is many subscribers.
type crowd []subscriber

// gather connects a subscriber to each of the links, and waits until each has its
// first message.
func gather(ctx context.Context, way Way, links []*url.URL) (crowd, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	all := make(crowd, len(links))
	turns := make(chan int)
	var opening sync.WaitGroup
	for range openers {
		opening.Go(func() {
			for i := range turns {
				s, err := subscribe(context.WithoutCancel(ctx), way, i, links[i])
				if err != nil {
					cancel(fmt.Errorf("connection %d of %d: %w", i+1, len(links), err))
					continue
				}
				all[i] = s
				if _, err := s.next(); err != nil {
					cancel(fmt.Errorf("first message of connection %d: %w", i+1, err))
				}
			}
		})
	}
	for i := range links {
		if ctx.Err() != nil {
			break
		}
		turns <- i
	}
	close(turns)
	opening.Wait()
	if err := context.Cause(ctx); err != nil {
		all.leave()
		return nil, err
	}
	return all, nil
}

// listen gives every message to heard, in a goroutine for each subscriber, until
// its stream ends. The channel has then as many errors as there are subscribers.
func (c crowd) listen(heard func(subscriber int, m message)) <-chan error {
	ends := make(chan error, len(c))
	for i, s := range c {
		go func() {
			for {
				m, err := s.next()
				if err != nil {
					ends <- err
					return
				}
				heard(i, m)
			}
		}()
	}
	return ends
}

func (c crowd) leave() {
	for _, s := range c {
		if s != nil {
			s.close()
		}
	}
}
