-- name: InsertIdempotencyKeys :exec
-- Takes the keys that are free or older than a day. In sorted order, so that
-- nodes that insert the same keys wait for each other instead of deadlocking.
insert into idempotency_keys as k (user_id, key, request_id, body_hash)
select n.user_id, n.key, n.request_id, n.body_hash
from (
    select unnest(@user_ids::text[]) as user_id,
        unnest(@keys::text[]) as key,
        unnest(@request_ids::uuid[]) as request_id,
        unnest(@body_hashes::bytea[]) as body_hash
) n
order by n.user_id, n.key
on conflict (user_id, key) do update
set request_id = excluded.request_id, body_hash = excluded.body_hash, created_at = excluded.created_at
where k.created_at < clock_timestamp() - interval '24 hours';

-- name: GetIdempotencyKeys :many
select k.user_id, k.key, k.request_id, k.body_hash
from idempotency_keys k
join (select unnest(@user_ids::text[]) as user_id, unnest(@keys::text[]) as key) n
    on k.user_id = n.user_id and k.key = n.key;

-- name: DeleteExpiredIdempotencyKeys :execrows
delete from idempotency_keys
where (user_id, key) in (
    select e.user_id, e.key from idempotency_keys e
    where e.created_at < clock_timestamp() - interval '24 hours'
    limit 10000
);

-- name: GetUndecided :many
-- The requests of a sale that these transactions accepted and nobody decided, in
-- the order of acceptance, with what their buyers hold, and while units are free
-- with a number for the order that each may become.
--
-- The statistics know nothing of a sale that has just opened: the planner takes it
-- for a single row, and would read all its events and allowances, once for each
-- request. So it is left no choice: the sum keeps it from the indexes by sale, and
-- the lateral joins look up by the whole key.
select sqlc.embed(e),
    clock_timestamp()::timestamptz as now,
    coalesce(a.quantity, 0)::bigint as held_quantity,
    coalesce(a.request_id, '00000000-0000-0000-0000-000000000000')::uuid as held_request_id,
    coalesce(a.order_id, '')::text as held_order_id,
    case when @any_free::boolean then nextval('order_sequence') else 0 end::bigint as order_number
from events e
left join lateral (
    select d.version from events d
    where d.stream_id = e.stream_id and d.version = 2
    limit 1
) decided on true
left join lateral (
    select h.quantity, h.request_id, h.order_id from allowances h
    where h.sale_id = e.sale_id and h.user_id = e.data->>'userId'
    limit 1
) a on true
where e.transaction_id = any(@transaction_ids::bigint[])
    and e.sale_id + 0 = @sale_id
    and e.type = 'PurchaseRequested'
    and decided.version is null
order by e.transaction_id, e.position;

-- name: ListRequests :many
-- A user's requests of a sale, newest first, after a cursor.
select stream_id, transaction_id, position from events
where version = 1
    and type = 'PurchaseRequested'
    and sale_id = @sale_id
    and data->>'userId' = @user_id::text
    and (transaction_id, position) < (@before_transaction_id::bigint, @before_position::bigint)
order by transaction_id desc, position desc
limit @max_requests;

-- name: UpsertAllowances :exec
insert into allowances as a (sale_id, user_id, quantity, request_id, order_id)
select @sale_id::bigint, unnest(@user_ids::text[]), unnest(@quantities::bigint[]),
    unnest(@request_ids::uuid[]), unnest(@order_ids::text[])
on conflict (sale_id, user_id) do update
set quantity = excluded.quantity, request_id = excluded.request_id, order_id = excluded.order_id;
