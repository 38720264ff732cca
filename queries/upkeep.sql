-- name: RescueJobs :execrows
-- Gives decide jobs back to the workers: those whose worker is gone or does not
-- finish, those that a node's clock put into the future, those that are due but
-- wait for River's leader, and those that River gave up. A node lives as long as it holds the advisory lock of its client ID.
with living as materialized (
    select objid from pg_catalog.pg_locks
    where locktype = 'advisory'
        and granted
        and classid::bigint = @lock_class::bigint
        and objsubid = 2
        and database = (select oid from pg_catalog.pg_database where datname = current_database())
),
stuck as (
    select id from river_job
    where kind = 'decide'
        and (
            state = 'running' and (
                attempted_at < clock_timestamp() - interval '7 seconds'
                or (hashtext(attempted_by[array_upper(attempted_by, 1)])::bigint & 4294967295)::oid not in (select objid from living)
            )
            or state in ('available', 'retryable', 'scheduled') and scheduled_at > clock_timestamp() + interval '2 seconds'
            or state in ('retryable', 'scheduled') and (scheduled_at < clock_timestamp() - interval '1 second' or attempt > 1000)
            or state in ('cancelled', 'discarded')
        )
    for update skip locked
)
update river_job
set state = 'available', scheduled_at = clock_timestamp(), finalized_at = null,
    attempt = case when attempt > 1000 then 0 else attempt end,
    errors = case when attempt > 1000 then null else errors end
where id in (select id from stuck);

-- name: HoldSignOfLife :exec
select pg_advisory_lock(@lock_class::integer, hashtext(@client_id::text));

-- name: LockCheckpoint :one
select transaction_id from checkpoints
where name = @name
for update skip locked;

-- name: UpdateCheckpoint :exec
update checkpoints set transaction_id = @transaction_id where name = @name;

-- name: GetUndecidedTransactions :many
-- Which transactions in a range accepted requests that nobody has decided, and
-- whether a job will decide them. One statement, so one snapshot: a decision and
-- the end of its job are seen together or not at all.
select u.sale_id, u.transaction_id, u.count,
    exists (
        select from river_job j
        where j.kind = 'decide'
            and j.state <> 'completed'
            and j.args @> jsonb_build_object('saleId', u.sale_id, 'transactionId', u.transaction_id)
    )::boolean as has_job
from (
    select e.sale_id, e.transaction_id, count(*)::integer as count
    from events e
    left join lateral ( -- by the key, whatever the planner believes of the range
        select d.version from events d
        where d.stream_id = e.stream_id and d.version = 2
        limit 1
    ) decided on true
    where e.transaction_id > @after::bigint
        and e.transaction_id < @before::bigint
        and e.type = 'PurchaseRequested'
        and decided.version is null
    group by e.sale_id, e.transaction_id
) u
order by u.transaction_id;

-- name: GetOrCreateSecret :one
with created as (
    insert into secrets (name, value) values (@name, @value)
    on conflict do nothing
    returning value
)
select value from created
union all
select value from secrets where name = @name
limit 1;

-- name: CountNodes :one
-- How many nodes show signs of life.
select count(*) from pg_catalog.pg_locks
where locktype = 'advisory'
    and granted
    and classid::bigint = @lock_class::bigint
    and objsubid = 2
    and database = (select oid from pg_catalog.pg_database where datname = current_database());
