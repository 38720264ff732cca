-- River's table is the inbox of each sale: the decide worker and the upkeep loop
-- read and change decide jobs here, beside River.

-- name: LockWaitingJobs :many
-- The jobs of a sale that wait for a worker, whatever time a node's clock put
-- on them; those that another worker is taking are passed over. So are those that
-- were accepted after this transaction got its ID: an outcome must come after its
-- request in the order of events.
select id, (args->>'transactionId')::bigint as transaction_id, (args->>'count')::integer as count
from river_job
where kind = 'decide'
    and state in ('available', 'retryable', 'scheduled')
    and queue = @queue
    and (args->>'saleId')::bigint = @sale_id::bigint
    and (args->>'transactionId')::bigint < (select current_transaction_id())
order by id
limit @max_jobs
for update skip locked;

-- name: GetRunningJobs :many
-- The jobs of a sale that some worker has taken, living or dead.
select id, (args->>'transactionId')::bigint as transaction_id, (args->>'count')::integer as count
from river_job
where kind = 'decide'
    and state = 'running'
    and queue = @queue
    and (args->>'saleId')::bigint = @sale_id::bigint
    and (args->>'transactionId')::bigint < (select current_transaction_id());

-- name: DeleteJobs :exec
delete from river_job where id = any(@ids::bigint[]);

-- name: CompleteJob :exec
-- Completes a job in the transaction that decides its requests, as River does it
-- after. That the job is gone, or runs no longer, is fine: its requests are decided
-- either way.
update river_job
set state = 'completed', finalized_at = clock_timestamp()
where id = @id and state = 'running';

-- name: GetBacklog :many
-- How many requests of each sale wait for a worker, and for how long the first has.
-- Those of running jobs are being decided.
select (args->>'saleId')::bigint as sale_id,
    sum((args->>'count')::integer)::bigint as undecided,
    (extract(epoch from clock_timestamp() - min(created_at)) * 1000000)::bigint as oldest_us
from river_job
where kind = 'decide' and state in ('available', 'retryable', 'scheduled')
group by 1;
