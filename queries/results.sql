-- name: InsertPurchaseResults :exec
-- A result never changes. One that is so old that its row may be gone is left out:
-- what happens to the order later must not bring it back.
insert into purchase_results (
    request_id, version, sale_id, user_id, quantity, status, reason, order_id,
    existing_request_id, existing_order_id, pay_by, accepted_at, decided_at
)
select n.request_id, n.version, n.sale_id, n.user_id, n.quantity, n.status,
    nullif(n.reason, ''), nullif(n.order_id, ''),
    nullif(n.existing_request_id, '00000000-0000-0000-0000-000000000000'), nullif(n.existing_order_id, ''),
    nullif(n.pay_by, 'epoch'), n.accepted_at, n.decided_at
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
where n.decided_at > clock_timestamp() - @retention::interval
on conflict (request_id) do nothing;

-- name: GetPurchaseResults :many
select * from purchase_results
where request_id = any(@request_ids::uuid[]);

-- name: UpsertOrders :exec
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
set version = excluded.version, status = excluded.status, paid_at = excluded.paid_at, ended_at = excluded.ended_at
where o.version < excluded.version;

-- name: GetOrder :one
select sqlc.embed(orders), sales.goods_id
from orders
join sales using (sale_id)
where order_id = @order_id;

-- name: ListOrders :many
-- A user's orders, newest first, after a cursor.
select sqlc.embed(orders), sales.goods_id
from orders
join sales using (sale_id)
where user_id = @user_id
    and (created_at, order_id) < (@before_created_at::timestamptz, @before_order_id::text)
order by created_at desc, order_id desc
limit @max_orders;

-- name: KeepPurchaseResults :exec
select keep_purchase_results(@retention::interval);
