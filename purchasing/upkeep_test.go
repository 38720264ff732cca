package purchasing_test

import (
	"fmt"
	"testing"
	"time"

	"seckill/postgres/postgrestest"
)

// Each of these leaves a request whose job no worker would take by itself; the
// sale is otherwise silent, so no other purchase heals it.
func TestUpkeep(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		damage string // of the job of the one request
		within time.Duration
	}{
		"WorkerIsGone":     {"update river_job set state = 'running', attempt = 1, attempted_at = now(), attempted_by = '{gone}'", 5 * time.Second},
		"ClockOfANodeRuns": {"update river_job set scheduled_at = now() + interval '1 hour'", 5 * time.Second},
		"LeaderIsGone":     {"update river_job set state = 'retryable', attempt = 1, scheduled_at = now() - interval '1 minute'", 5 * time.Second},
		"Discarded":        {"update river_job set state = 'discarded', finalized_at = now()", 5 * time.Second},
		"Cancelled":        {"update river_job set state = 'cancelled', finalized_at = now()", 5 * time.Second},
		"ManyAttempts":     {"update river_job set state = 'retryable', attempt = 32000, scheduled_at = now() + interval '1 day'", 5 * time.Second},
		// The sweep leaves young requests to their jobs, so it takes a little longer (FAULTS 10).
		"JobIsLost": {"delete from river_job", 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, postgrestest.New(t), 500)
			id := n.submit(t, n.sale(t, 10, 1), "42", 1)
			n.exec(t, test.damage)
			start := time.Now()
			n.work(t)
			n.decided(t, id, test.within)
			t.Logf("healed after %s", time.Since(start).Round(time.Millisecond))
		})
	}
}

// The sweep passes over what is decided and never looks at it again.
func TestUpkeep_CheckpointAdvances(t *testing.T) {
	t.Parallel()
	n := newNode(t, postgrestest.New(t), 500)
	n.work(t)
	sale := n.sale(t, 10, 1)
	n.decided(t, n.submit(t, sale, "42", 1), soon)
	last := value[int64](t, n, "select max(transaction_id) from events where sale_id = $1", sale)
	eventually(t, 30*time.Second, fmt.Sprintf("the checkpoint has passed transaction %d", last), func() bool {
		return value[int64](t, n, "select transaction_id from checkpoints where name = 'inbox'") >= last
	})
}
