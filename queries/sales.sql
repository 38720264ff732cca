-- name: NextSaleID :one
select nextval('sale_ids')::bigint as sale_id, clock_timestamp()::timestamptz as now;

-- name: InsertSale :exec
insert into sales (sale_id, goods_id, name, price, currency, stock, available, per_user_limit, opens_at, closes_at, payment_timeout_us)
values (@sale_id, @goods_id, @name, @price, @currency, @stock, @stock, @per_user_limit, @opens_at, @closes_at, @payment_timeout_us);

-- name: QueueForSale :exec
-- Waits for the sale's turn. The row's own lock would do, but for one thing: who
-- waits for a row that is being updated is given a transaction ID before the lock,
-- and may then wait again; the order of IDs would not be the order of locks.
select pg_advisory_xact_lock(@lock_class::integer, hashint8(@sale_id::bigint));

-- name: LockSale :one
select * from sales
where sale_id = @sale_id
for no key update;

-- name: UpdateSaleAvailable :exec
update sales
set available = @available, revision = revision + 1
where sale_id = @sale_id;

-- name: GetSale :one
select sqlc.embed(sales), clock_timestamp()::timestamptz as server_time
from sales
where sale_id = @sale_id;

-- name: GetSales :many
select sqlc.embed(sales), clock_timestamp()::timestamptz as server_time
from sales
where sale_id = any(@sale_ids::bigint[]);

-- name: ListSales :many
-- Newest first, after a cursor.
select sqlc.embed(sales), clock_timestamp()::timestamptz as server_time
from sales
where sale_id < @before_sale_id
order by sale_id desc
limit @max_sales;

-- name: GetSaleOfGoods :one
-- The sale that a goods ID means: the one that is on, else the next, else the
-- last. Where several are on, the one that closes first.
select sale_id from sales
where goods_id = @goods_id
order by
    case when opens_at <= clock_timestamp() and clock_timestamp() < closes_at then 0
        when clock_timestamp() < opens_at then 1
        else 2 end,
    case when clock_timestamp() < opens_at then opens_at end,
    case when clock_timestamp() < closes_at then closes_at end,
    closes_at desc,
    sale_id
limit 1;
