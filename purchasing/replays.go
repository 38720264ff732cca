package purchasing

import (
	"context"
	"time"

	"seckill/queries"
)

const (
	// lookupTimeout bounds one look for keys.
	lookupTimeout = 2 * time.Second
	// lookupBatch is the most keys in one query.
	lookupBatch = 1000
)

// lookup asks whether a request's idempotency key was used before.
type lookup struct {
	Request
	done chan outcome // of one; neither accepted nor an error means that it was not
}

// replay answers a request whose key was used before; Accepted.Replay is false if
// it was not. It is for requests that a sale refuses, which come by the thousand:
// those that ask at the same time share a query.
func (i *Intake) replay(ctx context.Context, request Request) (Accepted, error) {
	if request.Key == "" {
		return Accepted{}, nil
	}
	asked := &lookup{Request: request, done: make(chan outcome, 1)}
	if err := send(i, i.lookups, asked); err != nil {
		return Accepted{}, err
	}
	select {
	case o := <-asked.done:
		return o.accepted, o.err
	case <-ctx.Done():
		return Accepted{}, ctx.Err()
	}
}

func (i *Intake) lookUpUntilClosed() {
	for first := range i.lookups {
		i.lookUp(collect(i.lookups, first, lookupBatch, func(*lookup) bool { return true }))
	}
}

func (i *Intake) lookUp(batch []*lookup) {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	defer cancel()
	users, keys := make([]string, len(batch)), make([]string, len(batch))
	for n, asked := range batch {
		users[n], keys[n] = asked.UserID, asked.Key
	}
	claims, err := readClaims(ctx, queries.New(i.Pool), users, keys)
	for _, asked := range batch {
		answer := outcome{err: err}
		if claimed, ok := claims[userKey{asked.UserID, asked.Key}]; ok {
			answer = claimed.answer(asked.BodyHash)
		}
		asked.done <- answer
	}
}
