-- name: AppendEvents :one
-- Appends each event after the version before it. An event whose predecessor is
-- missing is left out, which the count shows; one whose version is taken breaks
-- the primary key.
--
-- The predecessor is looked up by a lateral join of one row: as a subquery that may
-- or may not be needed, the planner would hash the whole log for it while the
-- statistics take that for short.
with this as materialized ( -- once, not for each row
    select current_transaction_id() as transaction_id, clock_timestamp() as recorded_at
),
appended as (
    insert into events (stream_id, version, transaction_id, sale_id, type, data, metadata, recorded_at)
    select n.stream_id, n.version, t.transaction_id, n.sale_id, n.type, n.data, n.metadata, t.recorded_at
    from (
        select unnest(@stream_ids::uuid[]) as stream_id,
            unnest(@versions::integer[]) as version,
            unnest(@sale_ids::bigint[]) as sale_id,
            unnest(@types::text[]) as type,
            unnest(@data::jsonb[]) as data,
            unnest(@metadata::jsonb[]) as metadata,
            unnest(@follows::boolean[]) as follows -- its predecessor is in this very call
    ) n
    cross join this t
    left join lateral (
        select p.version from events p
        where p.stream_id = n.stream_id and p.version = n.version - 1
        limit 1
    ) predecessor on true
    where n.version = 1
        or n.follows
        or predecessor.version is not null
    returning transaction_id, recorded_at
)
select count(*)::integer as appended,
    coalesce(max(transaction_id), 0)::bigint as transaction_id,
    coalesce(max(recorded_at), 'epoch')::timestamptz as recorded_at
from appended;

-- name: StartStreams :one
-- Appends first events; a stream that exists already is left as it is.
with this as materialized ( -- once, not for each row
    select current_transaction_id() as transaction_id, clock_timestamp() as recorded_at
),
appended as (
    insert into events (stream_id, version, transaction_id, sale_id, type, data, metadata, recorded_at)
    select n.stream_id, 1, t.transaction_id, n.sale_id, n.type, n.data, n.metadata, t.recorded_at
    from (
        select unnest(@stream_ids::uuid[]) as stream_id,
            unnest(@sale_ids::bigint[]) as sale_id,
            unnest(@types::text[]) as type,
            unnest(@data::jsonb[]) as data,
            unnest(@metadata::jsonb[]) as metadata
    ) n
    cross join this t
    on conflict do nothing
    returning transaction_id, recorded_at
)
select count(*)::integer as appended,
    coalesce(max(transaction_id), 0)::bigint as transaction_id,
    coalesce(max(recorded_at), 'epoch')::timestamptz as recorded_at
from appended;

-- name: ReadStream :many
select * from events
where stream_id = @stream_id
order by version;

-- name: ReadStreams :many
select * from events
where stream_id = any(@stream_ids::uuid[])
order by stream_id, version;

-- name: ReadTransactions :many
select * from events
where transaction_id = any(@transaction_ids::bigint[])
order by transaction_id, position;

-- name: ReadLog :many
-- The log after a cursor, in the order of (transaction_id, position), as far as
-- nothing older can still appear.
select * from events
where (transaction_id, position) > (@after_transaction_id::bigint, @after_position::bigint)
    and transaction_id < transaction_id_horizon()
order by transaction_id, position
limit @max_events;

-- name: TransactionHorizon :one
select transaction_id_horizon()::bigint;

-- name: NotifyCommitted :exec
select pg_notify('seckill_events', (@transaction_id::bigint)::text);
