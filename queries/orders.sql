-- name: GetPurchaseOfOrder :one
-- Which purchase an order number means: that never changes, so any row will do.
select request_id, sale_id, user_id from orders
where order_id = @order_id;

-- name: LockPurchase :exec
-- Waits for the purchase's turn. It comes before the lock of its sale.
select pg_advisory_xact_lock(@lock_class::integer, uuid_hash(@request_id::uuid));

-- name: Now :one
select clock_timestamp()::timestamptz;

-- name: GetAllowances :many
-- What buyers hold of a sale, to be read under its lock. Each by the whole key: see
-- GetUndecided.
select a.user_id, a.quantity, a.request_id, a.order_id
from (select unnest(@user_ids::text[]) as user_id) u
cross join lateral (
    select * from allowances h
    where h.sale_id = @sale_id and h.user_id = u.user_id
    limit 1
) a;

-- name: GetConfirmedPurchases :many
-- All that these users ever won of a sale, in the order of confirmation.
select w.stream_id
from (select unnest(@user_ids::text[]) as user_id) u
cross join lateral (
    select r.stream_id, c.transaction_id, c.position from events r
    join events c on c.stream_id = r.stream_id and c.version = 2 and c.type = 'PurchaseConfirmed'
    where r.version = 1
        and r.type = 'PurchaseRequested'
        and r.sale_id = @sale_id
        and r.data->>'userId' = u.user_id
    offset 0 -- one user at a time, by the index, whatever the planner believes
) w
order by w.transaction_id, w.position;

-- name: GetOverdueSales :many
-- The sales of the orders that are overdue the longest. (Here and below the time is
-- one that an index can be searched for, which clock_timestamp() is not.)
select sale_id from (
    select sale_id, pay_by from orders
    where status = 'pending_payment' and pay_by <= statement_timestamp()
    order by pay_by
    limit @max_orders
) overdue
group by sale_id
order by min(pay_by);

-- name: LockOverduePurchases :many
-- Overdue orders of a sale with the locks of their purchases, longest overdue
-- first. Those whose locks others hold are passed over, and the scan ends with the
-- last lock that is wanted. What is overdue is a hint: decide by the streams, read
-- in the next statement.
select request_id from (
    select request_id from orders
    where status = 'pending_payment'
        and pay_by <= statement_timestamp()
        and sale_id = @sale_id
        and request_id <> all(@but::uuid[])
    order by pay_by
    offset 0 -- a wall for the planner: no lock before the row is known to be wanted
) overdue
where pg_try_advisory_xact_lock(@lock_class::integer, uuid_hash(request_id))
limit @max_orders;

-- name: LockPurchases :many
-- Those of the purchases whose locks are free, with their locks.
select n.request_id::uuid as request_id
from (select unnest(@request_ids::uuid[]) as request_id offset 0) n
where pg_try_advisory_xact_lock(@lock_class::integer, uuid_hash(n.request_id));
