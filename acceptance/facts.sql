-- What the rules are about: the events, laid out, and what the buyers sent and
-- were told. Nothing here is taken from the service's own queries.

-- What an operator did to each sale after it was scheduled.
create temp table commands on commit drop as
select
    sale_id,
    type,
    recorded_at,
    transaction_id,
    position,
    version,
    case type when 'StockAdded' then 1 when 'StockRemoved' then -1 else 0 end * coalesce((data->>'quantity')::bigint, 0) as units,
    (data->>'opensAt')::timestamptz as opens_at,
    (data->>'closesAt')::timestamptz as closes_at
from events
where type in ('SalePaused', 'SaleResumed', 'SaleClosed', 'StockAdded', 'StockRemoved', 'SaleRescheduled');

-- The terms of each sale as they are in the end. A window can be moved only so that
-- no moment that has passed is judged anew, so the last one judges all requests.
create temp table terms on commit drop as
select
    s.sale_id,
    (s.data->>'goodsId')::bigint as goods_id,
    s.data->>'name' as name,
    (s.data->>'price')::bigint as price,
    s.data->>'currency' as currency,
    (s.data->>'stock')::bigint as planned_stock,
    (s.data->>'stock')::bigint + coalesce(c.units, 0) as stock,
    (s.data->>'perUserLimit')::integer as per_user_limit,
    coalesce(moved.opens_at, (s.data->>'opensAt')::timestamptz) as opens_at,
    coalesce(moved.closes_at, (s.data->>'closesAt')::timestamptz) as closes_at,
    c.closed_at,
    (s.data->>'paymentTimeout')::interval as payment_timeout
from events s
left join (
    select sale_id, sum(units)::bigint as units, min(recorded_at) filter (where type = 'SaleClosed') as closed_at
    from commands
    group by sale_id
) c using (sale_id)
left join (
    select distinct on (sale_id) sale_id, opens_at, closes_at
    from commands
    where type = 'SaleRescheduled'
    order by sale_id, version desc
) moved using (sale_id)
where s.type = 'SaleScheduled';

-- Which window each sale had when; until is null for the last one.
create temp table windows on commit drop as
select
    sale_id,
    (data->>'opensAt')::timestamptz as opens_at,
    (data->>'closesAt')::timestamptz as closes_at,
    recorded_at as since,
    lead(recorded_at) over (partition by sale_id order by version) as until
from events
where type in ('SaleScheduled', 'SaleRescheduled');

-- When each sale was paused; until is null for a pause that was never ended.
create temp table pauses on commit drop as
select sale_id, since, until
from (
    select
        sale_id,
        type,
        recorded_at as since,
        lead(recorded_at) over (partition by sale_id order by version) as until
    from commands
    where type in ('SalePaused', 'SaleResumed')
) turns
where type = 'SalePaused';

-- What was accepted.
create temp table requests on commit drop as
select
    stream_id as request_id,
    sale_id,
    data->>'userId' as user_id,
    (data->>'quantity')::bigint as quantity,
    recorded_at as accepted_at,
    transaction_id,
    position
from events
where type = 'PurchaseRequested';

-- What happened to orders: payments, and the ends that release their units.
create temp table turns on commit drop as
select
    e.stream_id as request_id,
    e.version,
    e.type,
    r.sale_id,
    r.user_id,
    case when e.type = 'OrderPaid' then 0 else (e.data->>'quantity')::bigint end as released,
    case
        when e.type = 'OrderPaid' or e.type = 'OrderRefunded' and not (e.data->'restock')::boolean then 0
        else (e.data->>'quantity')::bigint
    end as restocked,
    e.data->>'paymentReference' as payment_reference,
    (e.data->>'amount')::bigint as amount,
    e.recorded_at,
    e.transaction_id,
    e.position
from events e
join requests r on r.request_id = e.stream_id
where e.type in ('OrderPaid', 'OrderCancelled', 'OrderExpired', 'OrderRefunded');
create index on turns (request_id);
analyze turns;

-- Everything that a sale's lock guards, in its order: the decisions, and the
-- releases, which are negative here. With what had been sold and what the buyer held
-- just before it.
create temp table movements on commit drop as
select
    m.*,
    coalesce(sum(m.sold) over earlier_of_the_sale, 0) as sold_before,
    coalesce(sum(m.held) over earlier_of_the_buyer, 0) as held_before
from (
    select
        e.stream_id as request_id,
        e.version,
        r.sale_id,
        r.user_id,
        case when e.type = 'PurchaseConfirmed' then (e.data->>'quantity')::bigint else 0 end as sold,
        case when e.type = 'PurchaseConfirmed' then (e.data->>'quantity')::bigint else 0 end as held,
        e.recorded_at,
        e.transaction_id,
        e.position
    from events e
    join requests r on r.request_id = e.stream_id
    where e.type in ('PurchaseConfirmed', 'PurchaseRejected')
    union all
    select request_id, version, sale_id, user_id, -restocked, -released, recorded_at, transaction_id, position
    from turns
    where released <> 0
) m
window
    earlier_of_the_sale as (
        partition by m.sale_id
        order by m.transaction_id, m.position
        rows between unbounded preceding and 1 preceding
    ),
    earlier_of_the_buyer as (
        partition by m.sale_id, m.user_id
        order by m.transaction_id, m.position
        rows between unbounded preceding and 1 preceding
    );

-- What was decided.
create temp table decisions on commit drop as
select
    e.stream_id as request_id,
    e.version,
    r.sale_id,
    r.user_id,
    r.quantity,
    r.accepted_at,
    e.recorded_at as decided_at,
    e.transaction_id,
    e.position,
    e.type = 'PurchaseConfirmed' as confirmed,
    m.sold as units,
    (e.data->>'amount')::bigint as amount,
    e.data->>'currency' as currency,
    e.data->>'orderId' as order_id,
    (e.data->>'payBy')::timestamptz as pay_by,
    e.data->>'reason' as reason,
    (e.data->>'existingRequestId')::uuid as existing_request_id,
    e.data->>'existingOrderId' as existing_order_id,
    m.sold_before,
    m.held_before
from events e
join requests r on r.request_id = e.stream_id
join movements m on m.request_id = e.stream_id and m.version = e.version
where e.type in ('PurchaseConfirmed', 'PurchaseRejected');
create index on decisions (sale_id, user_id);
create index on decisions (request_id);
analyze decisions;

-- Every answer and push that showed a purchase. Times are by the buyer's clock,
-- which is the database's.
create temp table told (
    how text not null, -- post, long poll, short poll or sse
    node text not null,
    key text not null, -- of a post with an Idempotency-Key, else ''
    sent_at timestamptz not null,
    told_at timestamptz not null,
    asked text not null, -- the request ID in the question, '' for a post
    request_id uuid not null,
    sale_id bigint not null,
    user_id text not null,
    quantity bigint not null,
    status text not null,
    success boolean,
    reason text,
    order_id text,
    existing_request_id uuid,
    existing_order_id text,
    pay_by timestamptz,
    accepted_at timestamptz,
    decided_at timestamptz
) on commit drop;

-- Every POST.
create temp table sent (
    sale_id bigint not null,
    user_id text not null,
    quantity bigint not null,
    key text not null -- '' for none
) on commit drop;

-- Every POST that was refused for good.
create temp table refused (
    sale_id bigint not null,
    user_id text not null,
    quantity bigint not null,
    code text not null,
    sent_at timestamptz not null,
    told_at timestamptz not null
) on commit drop;

-- Every answer that there is no such request.
create temp table unknown (
    asked uuid not null,
    node text not null,
    told_at timestamptz not null
) on commit drop;

-- Every answer to a command on an order.
create temp table commanded (
    command text not null, -- pay, cancel or refund
    order_id text not null,
    reference text not null, -- '' for a cancel
    node text not null,
    sent_at timestamptz not null,
    told_at timestamptz not null,
    answer text not null -- the order's status, or the code of the refusal
) on commit drop;
