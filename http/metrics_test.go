package http_test

import (
	"strings"
	"testing"
)

// What the metrics say is what happened.
func TestServer_Metrics(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	sale := n.sale(t, 1, 2)
	n.result(t, n.buy(t, sale, `{"userId":"loser","quantity":2}`).RequestID)
	n.result(t, n.buy(t, sale, by("winner")).RequestID)
	n.post(t, purchases(n.pastSale(t)), by("late")).problem(t, 409, "sale_closed")

	var text string
	for _, want := range []string{
		`seckill_purchases_accepted_total 2`,
		`seckill_purchases_decided_total{outcome="confirmed"} 1`,
		`seckill_purchases_decided_total{outcome="sold_out"} 1`,
		`seckill_purchases_turned_away_total{reason="sale_closed"} 1`,
		`seckill_batch_size_count{stage="intake"} 2`,
		`seckill_batch_size_count{stage="decide"} 2`,
		`seckill_stage_seconds_count{stage="queue"} 2`,
		`seckill_stage_seconds_count{stage="wait"} 2`,
		`seckill_subscribers{kind="long_poll"} 0`,
		`seckill_subscribers{kind="sse"} 0`,
	} {
		eventually(t, want, func() bool {
			text = string(n.get(t, "/metrics").is(t, 200).body)
			return strings.Contains(text, want+"\n")
		})
	}

	// Somebody who waits is counted as long as they do.
	waiting := startIdleNode(t)
	accepted := waiting.buy(t, waiting.sale(t, 1, 1), by("42"))
	done := make(chan struct{})
	go func() {
		defer close(done)
		waiting.get(t, "/purchases/"+accepted.RequestID+"?wait=2s")
	}()
	eventually(t, "one waits by long poll", func() bool {
		return strings.Contains(string(waiting.get(t, "/metrics").body), `seckill_subscribers{kind="long_poll"} 1`)
	})
	<-done
	eventually(t, "nobody waits any more", func() bool {
		return strings.Contains(string(waiting.get(t, "/metrics").body), `seckill_subscribers{kind="long_poll"} 0`)
	})
}
