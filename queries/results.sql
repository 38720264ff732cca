-- name: UpsertPurchaseResults :exec
insert into purchase_results as r (
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
on conflict (request_id) do update
set version = excluded.version, status = excluded.status, reason = excluded.reason, order_id = excluded.order_id,
    existing_request_id = excluded.existing_request_id, existing_order_id = excluded.existing_order_id,
    pay_by = excluded.pay_by, decided_at = excluded.decided_at
where r.version < excluded.version;

-- name: GetPurchaseResults :many
select * from purchase_results
where request_id = any(@request_ids::uuid[]);

-- name: UpsertOrders :exec
insert into orders as o (
    order_id, version, request_id, sale_id, user_id, quantity, amount, currency, status, pay_by, created_at
)
select unnest(@order_ids::text[]),
    unnest(@versions::integer[]),
    unnest(@request_ids::uuid[]),
    unnest(@sale_ids::bigint[]),
    unnest(@user_ids::text[]),
    unnest(@quantities::bigint[]),
    unnest(@amounts::bigint[]),
    unnest(@currencies::text[]),
    unnest(@statuses::text[]),
    unnest(@pay_bys::timestamptz[]),
    unnest(@created_ats::timestamptz[])
on conflict (order_id) do update
set version = excluded.version, status = excluded.status
where o.version < excluded.version;

-- name: GetOrder :one
select sqlc.embed(orders), sales.goods_id
from orders
join sales using (sale_id)
where order_id = @order_id;

-- name: KeepPurchaseResults :exec
select keep_purchase_results(@retention::interval);
