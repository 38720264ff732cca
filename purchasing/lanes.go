package purchasing

import (
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"seckill/eventstore"
)

// lanes is the number of decide queues. A node works one job of each at a time,
// so one hot sale takes one worker, not all.
const lanes = 8

func lane(saleID int64) string { return fmt.Sprintf("decide_%d", uint64(saleID)%lanes) }

// DecideArgs are the arguments of a job that decides the requests of a sale that
// one transaction accepted. They name the transaction instead of the requests:
// River indexes arguments, so small ones are cheap.
type DecideArgs struct {
	SaleID        int64 `json:"saleId"`
	TransactionID int64 `json:"transactionId"`
	Count         int   `json:"count"`
}

// Kind implements river.JobArgs. SQL in queries/ knows the kind too.
func (DecideArgs) Kind() string { return "decide" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (a DecideArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: lane(a.SaleID), MaxAttempts: maxAttempts}
}

const (
	// saleLockClass is the class of the advisory locks in which workers queue for a sale.
	saleLockClass     = 0x5A1E
	purchaseLockClass = eventstore.PurchaseLockClass
	// maxAttempts is River's largest: a decide job is never given up. (Upkeep
	// resets the count long before.)
	maxAttempts = 32767
	// retryDelay is how long a failed decide job waits for its next attempt.
	retryDelay = 200 * time.Millisecond
)
