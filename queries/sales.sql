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

-- name: UpdateSale :exec
-- Writes what a command changes.
update sales
set stock = @stock, available = @available, opens_at = @opens_at, closes_at = @closes_at,
    closed_at = @closed_at, paused_at = @paused_at, resumed_at = @resumed_at, revision = revision + 1
where sale_id = @sale_id;

-- name: GetSale :one
select sqlc.embed(sales), clock_timestamp()::timestamptz as server_time
from sales
where sale_id = @sale_id;

-- name: GetSaleWithFigures :one
select sqlc.embed(sales), clock_timestamp()::timestamptz as server_time,
    coalesce(a.requests - a.confirmed - a.rejected, 0)::bigint as pending,
    coalesce(a.confirmed, 0)::bigint as confirmed,
    coalesce(a.paid - a.refunded, 0)::bigint as paid,
    coalesce(a.turned_away, 0)::bigint as turned_away
from sales
left join sale_activity a on a.sale_id = sales.sale_id and a.second = '-infinity'
where sales.sale_id = @sale_id;

-- name: GetSales :many
select sqlc.embed(sales), clock_timestamp()::timestamptz as server_time
from sales
where sale_id = any(@sale_ids::bigint[]);

-- name: ListSales :many
-- Newest first, after a cursor; in these statuses, or in all when there are none.
select sqlc.embed(sales), statement_timestamp()::timestamptz as server_time
from sales
where sale_id < @before_sale_id
    and (sale_status(sales, statement_timestamp()) = any(@statuses::text[]) or cardinality(@statuses::text[]) = 0)
order by sale_id desc
limit @max_sales;

-- name: ListUnfinishedSales :many
-- ListSales for statuses other than closed: finds the sales by their end, however
-- many are over.
select sqlc.embed(sales), statement_timestamp()::timestamptz as server_time
from sales
where sale_id < @before_sale_id
    and closes_at > statement_timestamp()
    and sale_status(sales, statement_timestamp()) = any(@statuses::text[])
order by sale_id desc
limit @max_sales;

-- name: ListSalesOfGoods :many
-- ListSales of these goods only.
select sqlc.embed(sales), statement_timestamp()::timestamptz as server_time
from sales
where goods_id = @goods_id
    and sale_id < @before_sale_id
    and (sale_status(sales, statement_timestamp()) = any(@statuses::text[]) or cardinality(@statuses::text[]) = 0)
order by sale_id desc
limit @max_sales;

-- name: GetSaleOfGoods :one
-- The sale that a goods ID means: the one that is on, paused or not, else the next,
-- else the last. Where several are on, the one that closes first.
select sale_id from sales
where goods_id = @goods_id
order by
    case when closed_at is not null or closes_at <= clock_timestamp() then 2
        when clock_timestamp() < opens_at then 1
        else 0 end,
    case when closed_at is null and clock_timestamp() < opens_at then opens_at end,
    case when closed_at is null and clock_timestamp() < closes_at then closes_at end,
    coalesce(closed_at, closes_at) desc,
    sale_id
limit 1;
