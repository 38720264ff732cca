package purchasing

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"seckill/queries"
)

// inboxJob is a decide job of the locked sale.
type inboxJob struct {
	id            int64
	transactionID int64
	count         int
	waiting       bool // nobody works it: it is deleted with its requests' decision
}

// takeInbox chooses the jobs whose requests the batch decides: the job's own, the
// ones that wait, and those that other workers are running (which will find
// their requests decided, if they live), in order of acceptance, up to maxBatch
// requests. It leaves out the transactions that are known to be decided: running
// jobs are not deleted and would be found again.
func takeInbox(ctx context.Context, tx pgx.Tx, job *river.Job[DecideArgs], maxBatch int, decided map[int64]bool) ([]inboxJob, error) {
	q := queries.New(tx)
	sale := job.Args.SaleID
	waiting, err := q.LockWaitingJobs(ctx, queries.LockWaitingJobsParams{
		Queue: lane(sale), SaleID: sale, MaxJobs: int32(maxBatch),
	})
	if err != nil {
		return nil, fmt.Errorf("take waiting jobs: %w", err)
	}
	running, err := q.GetRunningJobs(ctx, queries.GetRunningJobsParams{Queue: lane(sale), SaleID: sale})
	if err != nil {
		return nil, fmt.Errorf("read running jobs: %w", err)
	}
	jobs := make([]inboxJob, 0, len(waiting)+len(running)+1)
	for _, j := range waiting {
		jobs = append(jobs, inboxJob{id: j.ID, transactionID: j.TransactionID, count: int(j.Count), waiting: true})
	}
	for _, j := range running {
		if !decided[j.TransactionID] {
			jobs = append(jobs, inboxJob{id: j.ID, transactionID: j.TransactionID, count: int(j.Count)})
		}
	}
	// The own job is found running, or waiting if it was rescued while this worker
	// was frozen, or not at all if somebody else took it then.
	isOwn := func(j inboxJob) bool { return j.id == job.ID }
	if !decided[job.Args.TransactionID] && !slices.ContainsFunc(jobs, isOwn) {
		jobs = append(jobs, ownJob(job))
	}
	slices.SortFunc(jobs, func(a, b inboxJob) int { return cmp.Compare(a.transactionID, b.transactionID) })

	taken, requests := 0, 0
	for taken < len(jobs) && (taken == 0 || requests+jobs[taken].count <= maxBatch) {
		requests += jobs[taken].count
		taken++
	}
	return jobs[:taken], nil
}

func ownJob(job *river.Job[DecideArgs]) inboxJob {
	return inboxJob{id: job.ID, transactionID: job.Args.TransactionID, count: job.Args.Count}
}
