-- What a rebuild of the read models needs besides the statements that keep them.

-- name: HoldRebuild :one
-- One rebuild at a time, for as long as its connection lives.
select pg_try_advisory_lock(@lock_class::integer, 0);

-- name: LetGoOfRebuild :exec
select pg_advisory_unlock(@lock_class::integer, 0);

-- name: LastTransaction :one
-- No event that is visible by now has a later transaction.
select coalesce(max(transaction_id), 0)::bigint from events;

-- name: ConfirmedPurchases :many
-- The next confirmed purchases after a place in the log and up to a transaction.
-- Horizons do not matter here: what commits after the last transaction was asked for
-- has been applied by whoever appended it.
select stream_id, transaction_id, position from events
where (transaction_id, position) > (@after_transaction_id::bigint, @after_position::bigint)
    and transaction_id <= @up_to::bigint
    and type = 'PurchaseConfirmed'
order by transaction_id, position
limit @max_purchases;

-- name: RecentlyDecidedPurchases :many
-- As ConfirmedPurchases: what was decided within the retention.
select stream_id, transaction_id, position from events
where (transaction_id, position) > (@after_transaction_id::bigint, @after_position::bigint)
    and transaction_id <= @up_to::bigint
    and type in ('PurchaseConfirmed', 'PurchaseRejected')
    and recorded_at > clock_timestamp() - @retention::interval
order by transaction_id, position
limit @max_purchases;

-- name: PageOfOrders :many
select order_id from orders
where order_id > @after
order by order_id
limit @max_orders;

-- name: DeleteExtraOrders :execrows
-- Deletes those of the orders that no event confirmed.
delete from orders o
where o.order_id = any(@order_ids::text[])
    and not exists (
        select from events c
        where c.stream_id = o.request_id and c.version = 2 and c.type = 'PurchaseConfirmed' and c.data->>'orderId' = o.order_id
    );

-- name: WrongOrders :many
-- The purchases whose orders are missing or differ from what they should be.
select n.request_id::uuid as request_id
from (
    select unnest(@order_ids::text[]) as order_id,
        unnest(@versions::integer[]) as version,
        unnest(@request_ids::uuid[]) as request_id,
        unnest(@sale_ids::bigint[]) as sale_id,
        unnest(@user_ids::text[]) as user_id,
        unnest(@quantities::bigint[]) as quantity,
        unnest(@amounts::bigint[]) as amount,
        unnest(@currencies::text[]) as currency,
        unnest(@statuses::text[]) as status,
        unnest(@pay_bys::timestamptz[]) as pay_by,
        unnest(@created_ats::timestamptz[]) as created_at,
        unnest(@paid_ats::timestamptz[]) as paid_at,
        unnest(@ended_ats::timestamptz[]) as ended_at
) n
left join orders o on o.order_id = n.order_id
where (o.order_id, o.version, o.request_id, o.sale_id, o.user_id, o.quantity, o.amount, o.currency, o.status, o.pay_by,
        o.created_at, o.paid_at, o.ended_at)
    is distinct from (n.order_id, n.version, n.request_id, n.sale_id, n.user_id, n.quantity, n.amount, n.currency, n.status, n.pay_by,
        n.created_at, nullif(n.paid_at, 'epoch'), nullif(n.ended_at, 'epoch'));

-- name: OverwriteOrders :execrows
-- UpsertOrders for who holds the purchases' locks: whatever is stored, whatever
-- version it claims to be.
insert into orders as o (
    order_id, version, request_id, sale_id, user_id, quantity, amount, currency, status, pay_by, created_at,
    paid_at, ended_at
)
select n.order_id, n.version, n.request_id, n.sale_id, n.user_id, n.quantity, n.amount, n.currency, n.status, n.pay_by, n.created_at,
    nullif(n.paid_at, 'epoch'), nullif(n.ended_at, 'epoch')
from (
    select unnest(@order_ids::text[]) as order_id,
        unnest(@versions::integer[]) as version,
        unnest(@request_ids::uuid[]) as request_id,
        unnest(@sale_ids::bigint[]) as sale_id,
        unnest(@user_ids::text[]) as user_id,
        unnest(@quantities::bigint[]) as quantity,
        unnest(@amounts::bigint[]) as amount,
        unnest(@currencies::text[]) as currency,
        unnest(@statuses::text[]) as status,
        unnest(@pay_bys::timestamptz[]) as pay_by,
        unnest(@created_ats::timestamptz[]) as created_at,
        unnest(@paid_ats::timestamptz[]) as paid_at,
        unnest(@ended_ats::timestamptz[]) as ended_at
) n
on conflict (order_id) do update
set version = excluded.version, request_id = excluded.request_id, sale_id = excluded.sale_id, user_id = excluded.user_id,
    quantity = excluded.quantity, amount = excluded.amount, currency = excluded.currency, status = excluded.status,
    pay_by = excluded.pay_by, created_at = excluded.created_at, paid_at = excluded.paid_at, ended_at = excluded.ended_at;

-- name: PageOfPurchaseResults :many
select request_id from purchase_results
where request_id > @after
order by request_id
limit @max_results;

-- name: DeleteExtraPurchaseResults :execrows
-- Deletes those of the results that no event decided.
delete from purchase_results r
where r.request_id = any(@request_ids::uuid[])
    and not exists (
        select from events d
        where d.stream_id = r.request_id and d.version = 2 and d.type in ('PurchaseConfirmed', 'PurchaseRejected')
    );

-- name: CorrectPurchaseResults :execrows
-- Overwrites those of the results that are stored and differ. It brings none back.
update purchase_results r
set version = n.version, sale_id = n.sale_id, user_id = n.user_id, quantity = n.quantity, status = n.status,
    reason = nullif(n.reason, ''), order_id = nullif(n.order_id, ''),
    existing_request_id = nullif(n.existing_request_id, '00000000-0000-0000-0000-000000000000'),
    existing_order_id = nullif(n.existing_order_id, ''),
    pay_by = nullif(n.pay_by, 'epoch'), accepted_at = n.accepted_at, decided_at = n.decided_at
from (
    select unnest(@request_ids::uuid[]) as request_id,
        unnest(@versions::integer[]) as version,
        unnest(@sale_ids::bigint[]) as sale_id,
        unnest(@user_ids::text[]) as user_id,
        unnest(@quantities::bigint[]) as quantity,
        unnest(@statuses::text[]) as status,
        unnest(@reasons::text[]) as reason,
        unnest(@order_ids::text[]) as order_id,
        unnest(@existing_request_ids::uuid[]) as existing_request_id,
        unnest(@existing_order_ids::text[]) as existing_order_id,
        unnest(@pay_bys::timestamptz[]) as pay_by,
        unnest(@accepted_ats::timestamptz[]) as accepted_at,
        unnest(@decided_ats::timestamptz[]) as decided_at
) n
where r.request_id = n.request_id
    and (r.version, r.sale_id, r.user_id, r.quantity, r.status, r.reason, r.order_id, r.existing_request_id, r.existing_order_id,
            r.pay_by, r.accepted_at, r.decided_at)
        is distinct from (n.version, n.sale_id, n.user_id, n.quantity, n.status, nullif(n.reason, ''), nullif(n.order_id, ''),
            nullif(n.existing_request_id, '00000000-0000-0000-0000-000000000000'), nullif(n.existing_order_id, ''),
            nullif(n.pay_by, 'epoch'), n.accepted_at, n.decided_at);

-- name: MissingPurchaseResults :many
select n.request_id::uuid as request_id
from (select unnest(@request_ids::uuid[]) as request_id) n
where not exists (select from purchase_results r where r.request_id = n.request_id);

-- name: MakeCheckpoint :exec
insert into checkpoints (name, transaction_id) values (@name, 0)
on conflict do nothing;

-- name: WaitForCheckpoint :exec
select from checkpoints
where name = @name
for update;

-- name: DeleteExtraActivity :execrows
-- Deletes what the rebuilt table does not have.
delete from sale_activity a
where not exists (select from rebuilt_activity r where r.sale_id = a.sale_id and r.second = a.second);

-- name: OverwriteActivity :execrows
-- Writes what the rebuilt table has otherwise.
insert into sale_activity as a (sale_id, second, requests, confirmed, rejected, turned_away, paid, refunded)
select r.sale_id, r.second, r.requests, r.confirmed, r.rejected, r.turned_away, r.paid, r.refunded
from rebuilt_activity r
on conflict (sale_id, second) do update
set requests = excluded.requests, confirmed = excluded.confirmed, rejected = excluded.rejected,
    turned_away = excluded.turned_away, paid = excluded.paid, refunded = excluded.refunded
where (a.requests, a.confirmed, a.rejected, a.turned_away, a.paid, a.refunded)
    is distinct from (excluded.requests, excluded.confirmed, excluded.rejected, excluded.turned_away, excluded.paid, excluded.refunded);

-- name: CountRebuiltActivity :one
select count(*) from rebuilt_activity;
