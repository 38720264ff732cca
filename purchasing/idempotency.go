package purchasing

import (
	"bytes"
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"seckill/queries"
)

// userKey is a buyer's idempotency key: keys of different buyers are different.
type userKey struct{ user, key string }

// claim is what an idempotency key stands for.
type claim struct {
	requestID uuid.UUID
	bodyHash  []byte
}

// replay is a request whose key was used before, with its answer.
type replay struct {
	pending *pending
	outcome outcome
}

// answer is what a request gets whose key stands for the claim.
func (c claim) answer(bodyHash []byte) outcome {
	if !bytes.Equal(c.bodyHash, bodyHash) {
		return outcome{err: ErrKeyReused}
	}
	return outcome{accepted: Accepted{RequestID: c.requestID, Replay: true}}
}

// claimKeys claims the batch's idempotency keys and parts the requests that are
// new from those whose key was used before, in this batch or an earlier one.
func claimKeys(ctx context.Context, tx pgx.Tx, batch []*pending) (fresh []*pending, replays []replay, err error) {
	first := make(map[userKey]*pending)
	var rows queries.InsertIdempotencyKeysParams
	for _, p := range batch {
		key := userKey{p.UserID, p.Key}
		if p.Key == "" || first[key] != nil {
			continue
		}
		first[key] = p
		rows.UserIds = append(rows.UserIds, p.UserID)
		rows.Keys = append(rows.Keys, p.Key)
		rows.RequestIds = append(rows.RequestIds, p.id)
		rows.BodyHashes = append(rows.BodyHashes, p.BodyHash)
	}
	if len(first) == 0 {
		return batch, nil, nil
	}
	q := queries.New(tx)
	if err := q.InsertIdempotencyKeys(ctx, rows); err != nil {
		return nil, nil, fmt.Errorf("claim idempotency keys: %w", err)
	}
	claims, err := readClaims(ctx, q, rows.UserIds, rows.Keys)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range batch {
		claimed, ok := claims[userKey{p.UserID, p.Key}]
		if p.Key == "" || ok && claimed.requestID == p.id {
			fresh = append(fresh, p)
			continue
		}
		if !ok {
			return nil, nil, fmt.Errorf("the idempotency key that was just claimed is gone")
		}
		replays = append(replays, replay{pending: p, outcome: claimed.answer(p.BodyHash)})
	}
	return fresh, replays, nil
}

// readClaims reads in a statement of its own what the keys stand for: the one
// that inserts does not see what it waited for.
func readClaims(ctx context.Context, q *queries.Queries, users, keys []string) (map[userKey]claim, error) {
	found, err := q.GetIdempotencyKeys(ctx, queries.GetIdempotencyKeysParams{UserIds: users, Keys: keys})
	if err != nil {
		return nil, fmt.Errorf("read idempotency keys: %w", err)
	}
	claims := make(map[userKey]claim, len(found))
	for _, row := range found {
		claims[userKey{row.UserID, row.Key}] = claim{requestID: row.RequestID, bodyHash: row.BodyHash}
	}
	return claims, nil
}
