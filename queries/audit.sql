-- What the tables hold beside what the events say. Each query returns the rows that
-- differ: which, what is expected, and what is stored; null where there is nothing.
-- They share no code with what keeps the tables.

-- name: AuditedSales :many
-- Every sale that has a row or an event, by hops over the index.
with recursive seen as (
    select min(sale_id) as sale_id from events
    union all
    select (select min(e.sale_id) from events e where e.sale_id > seen.sale_id) from seen where seen.sale_id is not null
)
select sale_id::bigint from seen where sale_id is not null
union
select sale_id from sales
order by 1;

-- name: AuditSale :many
-- The sale's row: its terms, pauses and stock.
with own as (
    select version, type, data, recorded_at from events
    where events.sale_id = @sale_id and type in (
        'SaleScheduled', 'SaleRescheduled', 'SalePaused', 'SaleResumed', 'SaleClosed', 'StockAdded', 'StockRemoved'
    )
),
stock as (
    select coalesce(sum(case type when 'StockRemoved' then -(data->>'quantity')::bigint
        when 'StockAdded' then (data->>'quantity')::bigint
        when 'SaleScheduled' then (data->>'stock')::bigint end), 0)::bigint as units
    from own
),
sold as (
    select coalesce(sum(case
        when type = 'PurchaseConfirmed' then (data->>'quantity')::bigint
        when type in ('OrderCancelled', 'OrderExpired') or type = 'OrderRefunded' and (data->>'restock')::boolean
            then -(data->>'quantity')::bigint
        else 0 end), 0)::bigint as units
    from events
    where events.sale_id = @sale_id
        and type in ('PurchaseConfirmed', 'OrderCancelled', 'OrderExpired', 'OrderRefunded')
),
moved as (
    select data from own where type in ('SaleScheduled', 'SaleRescheduled') order by version desc limit 1
),
expected as (
    select jsonb_build_object(
        'goodsId', (s.data->>'goodsId')::bigint,
        'name', s.data->>'name',
        'price', (s.data->>'price')::bigint,
        'currency', s.data->>'currency',
        'perUserLimit', (s.data->>'perUserLimit')::integer,
        'paymentTimeoutUs', (extract(epoch from (s.data->>'paymentTimeout')::interval) * 1000000)::bigint,
        'stock', stock.units,
        'available', stock.units - sold.units,
        'opensAt', (moved.data->>'opensAt')::timestamptz,
        'closesAt', (moved.data->>'closesAt')::timestamptz,
        'closedAt', (select min(recorded_at) from own where type = 'SaleClosed'),
        'pausedAt', (select coalesce(array_agg(recorded_at order by version), '{}') from own where type = 'SalePaused'),
        'resumedAt', (select coalesce(array_agg(recorded_at order by version), '{}') from own where type = 'SaleResumed')
    ) as row
    from own s, stock, sold, moved
    where s.type = 'SaleScheduled'
),
stored as (
    select jsonb_build_object(
        'goodsId', goods_id,
        'name', name,
        'price', price,
        'currency', currency,
        'perUserLimit', per_user_limit,
        'paymentTimeoutUs', payment_timeout_us,
        'stock', stock,
        'available', available,
        'opensAt', opens_at,
        'closesAt', closes_at,
        'closedAt', closed_at,
        'pausedAt', paused_at,
        'resumedAt', resumed_at
    ) as row
    from sales
    where sales.sale_id = @sale_id
)
select (@sale_id::bigint)::text as key, e.row as expected, s.row as stored
from expected e
full join stored s on true
where e.row is distinct from s.row;

-- name: AuditAllowances :many
-- What each buyer holds of a sale, and the order that was confirmed last of it.
with ended as (
    select stream_id from events
    where events.sale_id = @sale_id and type in ('OrderCancelled', 'OrderExpired', 'OrderRefunded')
),
held as (
    select distinct on (r.data->>'userId')
        r.data->>'userId' as user_id,
        sum((c.data->>'quantity')::bigint) over (partition by r.data->>'userId')::bigint as quantity,
        c.stream_id as request_id,
        c.data->>'orderId' as order_id
    from events c
    join events r on r.stream_id = c.stream_id and r.version = 1
    where c.sale_id = @sale_id
        and c.type = 'PurchaseConfirmed'
        and not exists (select from ended where ended.stream_id = c.stream_id)
    order by r.data->>'userId', c.transaction_id desc, c.position desc
),
stored as (
    select user_id, quantity, request_id, order_id from allowances
    where allowances.sale_id = @sale_id and quantity > 0
)
select coalesce(h.user_id, s.user_id)::text as key, to_jsonb(h) as expected, to_jsonb(s) as stored
from held h
full join stored s on s.user_id = h.user_id
where to_jsonb(h) is distinct from to_jsonb(s);

-- name: AuditOrders :many
-- The orders of a sale.
with turns as (
    select stream_id,
        max(version) as version,
        (array_agg(type order by version desc))[1] as last_type,
        max(recorded_at) filter (where type = 'OrderPaid') as paid_at,
        max(recorded_at) filter (where type in ('OrderCancelled', 'OrderExpired', 'OrderRefunded')) as ended_at
    from events
    where events.sale_id = @sale_id and type in ('OrderPaid', 'OrderCancelled', 'OrderExpired', 'OrderRefunded')
    group by stream_id
),
expected as (
    select
        c.data->>'orderId' as order_id,
        coalesce(t.version, 2) as version,
        c.stream_id as request_id,
        c.sale_id,
        r.data->>'userId' as user_id,
        (c.data->>'quantity')::bigint as quantity,
        (c.data->>'amount')::bigint as amount,
        c.data->>'currency' as currency,
        case t.last_type
            when 'OrderPaid' then 'paid'
            when 'OrderCancelled' then 'cancelled'
            when 'OrderExpired' then 'expired'
            when 'OrderRefunded' then 'refunded'
            else 'pending_payment'
        end as status,
        (c.data->>'payBy')::timestamptz as pay_by,
        c.recorded_at as created_at,
        t.paid_at,
        t.ended_at
    from events c
    join events r on r.stream_id = c.stream_id and r.version = 1
    left join turns t on t.stream_id = c.stream_id
    where c.sale_id = @sale_id and c.type = 'PurchaseConfirmed'
)
select e.order_id::text as key, to_jsonb(e) as expected, to_jsonb(o) as stored
from expected e
left join orders o on o.order_id = e.order_id
where to_jsonb(e) is distinct from to_jsonb(o);

-- name: AuditExtraOrders :many
-- Orders that no event confirmed.
select o.order_id::text as key, null::jsonb as expected, to_jsonb(o) as stored
from orders o
where not exists (
    select from events c
    where c.stream_id = o.request_id and c.version = 2 and c.type = 'PurchaseConfirmed' and c.data->>'orderId' = o.order_id
);

-- name: AuditResults :many
-- The results that are kept.
select r.request_id::text as key, e.row as expected, to_jsonb(r) as stored
from purchase_results r
left join lateral (
    select to_jsonb(x) as row
    from (
        select
            q.stream_id as request_id,
            2 as version,
            q.sale_id,
            coalesce(q.data->>'userId', '') as user_id,
            coalesce((q.data->>'quantity')::bigint, 0) as quantity,
            case d.type when 'PurchaseConfirmed' then 'succeeded' else 'failed' end as status,
            d.data->>'reason' as reason,
            d.data->>'orderId' as order_id,
            (d.data->>'existingRequestId')::uuid as existing_request_id,
            d.data->>'existingOrderId' as existing_order_id,
            (d.data->>'payBy')::timestamptz as pay_by,
            q.recorded_at as accepted_at,
            d.recorded_at as decided_at
        from events q
        join events d on d.stream_id = q.stream_id and d.version = 2 and d.type in ('PurchaseConfirmed', 'PurchaseRejected')
        where q.stream_id = r.request_id and q.version = 1
            and coalesce(jsonb_typeof(q.data->'quantity'), 'number') = 'number' -- who could not be read is shown without
    ) x
) e on true
where e.row is distinct from to_jsonb(r)
    and not exists (select from events d where d.stream_id = r.request_id and d.version = 2 and d.data->>'reason' = 'internal');

-- name: AuditMissingResults :many
-- Purchases of a sale that were decided a short while ago and have no result. (That
-- of an old purchase may have been dropped.)
select d.stream_id::text as key, d.data as expected, null::jsonb as stored
from events d
join events q on q.stream_id = d.stream_id and q.version = 1
where d.sale_id = @sale_id
    and d.version = 2
    and d.type in ('PurchaseConfirmed', 'PurchaseRejected')
    and q.recorded_at > clock_timestamp() - @kept::interval
    and not exists (select from purchase_results r where r.request_id = d.stream_id);

-- name: AuditStreams :many
-- Purchases whose history cannot be: versions with gaps, more than one outcome or
-- end, or no outcome after a while.
select s.stream_id::text as key,
    '{"versions": "without gaps", "outcomes": 1, "ends": "0 or 1"}'::jsonb as expected,
    jsonb_build_object('versions', s.versions, 'outcomes', s.outcomes, 'ends', s.ends, 'acceptedAt', s.accepted_at) as stored
from (
    select stream_id,
        array_agg(version order by version) as versions,
        count(*) filter (where type in ('PurchaseConfirmed', 'PurchaseRejected')) as outcomes,
        count(*) filter (where type in ('OrderCancelled', 'OrderExpired', 'OrderRefunded')) as ends,
        max(recorded_at) filter (where version = 1) as accepted_at
    from events
    where events.sale_id = @sale_id and type ~ '^(Purchase(Requested|Confirmed|Rejected)|Order)'
    group by stream_id
) s
where s.versions <> (select array_agg(n) from generate_series(1, cardinality(s.versions)) n)
    or s.outcomes > 1
    or s.ends > 1
    or s.outcomes = 0 and (s.accepted_at is null or s.accepted_at < clock_timestamp() - @undecided::interval);
