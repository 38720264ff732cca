package acceptance_test

import (
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"time"
)

// demand is how much is asked of a sale.
type demand struct {
	sale        int64
	purchases   int
	users       int // fewer than purchases: some come again
	maxQuantity int
}

// population makes the buyers for some sales, mixed, and with all the habits that
// buyers have.
func population(nodes []*node, demands ...demand) []*buyer {
	var buyers []*buyer
	for _, d := range demands {
		for range d.purchases {
			buyers = append(buyers, newBuyer(nodes, d))
		}
	}
	mathrand.Shuffle(len(buyers), func(i, j int) { buyers[i], buyers[j] = buyers[j], buyers[i] })
	return buyers
}

// patient makes the buyers wait for their answers.
func patient(buyers []*buyer) []*buyer {
	for _, b := range buyers {
		b.leaves = stays
		b.postPatience = longPatience
	}
	return buyers
}

func newBuyer(nodes []*node, d demand) *buyer {
	b := &buyer{
		order: order{
			sale:     d.sale,
			user:     fmt.Sprintf("user-%d", mathrand.IntN(d.users)),
			quantity: 1 + mathrand.Int64N(int64(d.maxQuantity)),
		},
		ending:       endings[mathrand.IntN(len(endings))],
		follow:       []string{byLongPoll, bySSE, byShortPoll}[mathrand.IntN(3)],
		followAt:     mathrand.IntN(len(nodes)),
		leavesAfter:  time.Duration(mathrand.IntN(20)) * time.Millisecond,
		nodes:        nodes,
		postAt:       mathrand.IntN(len(nodes)),
		postPatience: postPatience,
	}
	if chance(0.75) {
		b.key = rand.Text()
		b.doubleClicks = chance(0.2)
	}
	switch {
	case chance(0.04):
		b.leaves = leavesAtOnce
	case chance(0.04):
		b.leaves = leavesAccepted
	case chance(0.04):
		b.leaves = leavesWaiting
	}
	return b
}

// chance is true for so large a share of calls.
func chance(share float64) bool { return mathrand.Float64() < share }
