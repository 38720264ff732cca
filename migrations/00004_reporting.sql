-- Reporting: views that explain a sale in SQL, and a role that can read nothing
-- else. They read the events and the sales, never a read model, so that any read
-- model can still be dropped and rebuilt. A later version may add columns at the
-- end; names and meanings stay.

-- +goose Up

create schema reporting;
comment on schema reporting is 'What happened, for analysts: stable views on the event history. Start with reporting.funnel.';

create view reporting.events as
select
    e.transaction_id,
    e.position,
    e.stream_id,
    e.version,
    e.sale_id,
    e.type,
    e.recorded_at,
    e.data->>'userId' as user_id,
    -- A request that could not be read is an event too, and must not break a report.
    case when jsonb_typeof(e.data->'quantity') = 'number' then (e.data->'quantity')::numeric end as quantity,
    e.data->>'orderId' as order_id,
    e.data->>'reason' as reason,
    e.data
from events e;
comment on view reporting.events is 'One row per event. Filter by sale_id or stream_id, which are indexed; the total order is (transaction_id, position).';
comment on column reporting.events.transaction_id is 'The transaction that recorded the event. Events of one transaction became visible together.';
comment on column reporting.events.position is 'Orders the events of one transaction. The numbers have gaps.';
comment on column reporting.events.stream_id is 'Whose event it is: of a purchase the request ID, else the stream of a sale or of a node''s door.';
comment on column reporting.events.version is 'Counts the events of the stream from 1. Of a purchase 1 is the request and 2 the decision.';
comment on column reporting.events.recorded_at is 'The database''s clock. Of a PurchaseRequested the time of acceptance, which counts for the window of the sale.';
comment on column reporting.events.user_id is 'The buyer. Only PurchaseRequested says it; join the other events of a purchase to that by stream_id.';
comment on column reporting.events.quantity is 'Units requested, confirmed, given back, added to the stock or removed from it; null where the event has none.';
comment on column reporting.events.order_id is 'The order that a PurchaseConfirmed began.';
comment on column reporting.events.reason is 'Why a PurchaseRejected was: sold_out, limit_exceeded, sale_not_open, sale_paused, sale_closed or internal.';
comment on column reporting.events.data is 'The whole event.';

create view reporting.funnel as
select
    s.sale_id,
    s.goods_id,
    s.name as goods_name,
    s.opens_at,
    s.closes_at,
    s.stock,
    s.available,
    e.requested,
    e.confirmed,
    e.rejected,
    e.requested - e.confirmed - e.rejected as undecided,
    e.paid,
    e.cancelled,
    e.expired,
    e.refunded,
    e.confirmed::double precision / nullif(e.requested, 0) as conversion,
    e.units_requested,
    e.units_confirmed,
    e.units_released,
    e.units_confirmed - e.units_released as units_sold,
    (e.units_confirmed - e.units_released)::double precision / nullif(s.stock, 0) as sell_through,
    e.first_request_at,
    e.last_request_at,
    e.last_decision_at
from sales s
cross join lateral (
    select
        count(*) filter (where type = 'PurchaseRequested') as requested,
        count(*) filter (where type = 'PurchaseConfirmed') as confirmed,
        count(*) filter (where type = 'PurchaseRejected') as rejected,
        count(*) filter (where type = 'OrderPaid') as paid,
        count(*) filter (where type = 'OrderCancelled') as cancelled,
        count(*) filter (where type = 'OrderExpired') as expired,
        count(*) filter (where type = 'OrderRefunded') as refunded,
        coalesce(sum(quantity) filter (where type = 'PurchaseRequested'), 0) as units_requested,
        coalesce(sum(quantity) filter (where type = 'PurchaseConfirmed'), 0) as units_confirmed,
        coalesce(sum(quantity) filter (
            where type in ('OrderCancelled', 'OrderExpired')
                or type = 'OrderRefunded' and data @> '{"restock": true}'
        ), 0) as units_released,
        min(recorded_at) filter (where type = 'PurchaseRequested') as first_request_at,
        max(recorded_at) filter (where type = 'PurchaseRequested') as last_request_at,
        max(recorded_at) filter (where type in ('PurchaseConfirmed', 'PurchaseRejected')) as last_decision_at
    from reporting.events
    where reporting.events.sale_id = s.sale_id
) e;
comment on view reporting.funnel is 'One row per sale: from requests over confirmed to paid purchases, and what that did to the stock.';
comment on column reporting.funnel.stock is 'All units ever added minus those removed.';
comment on column reporting.funnel.available is 'Free units now: stock minus units_sold.';
comment on column reporting.funnel.requested is 'Requests accepted with 202. Those refused at the door for a sold-out or closed sale are not among them.';
comment on column reporting.funnel.confirmed is 'Requests that won, whatever became of their orders.';
comment on column reporting.funnel.undecided is 'Requests that are neither confirmed nor rejected yet.';
comment on column reporting.funnel.paid is 'Orders that were ever paid, also if refunded later.';
comment on column reporting.funnel.conversion is 'confirmed / requested, 0 to 1; null without requests.';
comment on column reporting.funnel.units_released is 'Units of confirmed purchases that came back: cancelled, expired, or refunded and restocked.';
comment on column reporting.funnel.units_sold is 'units_confirmed minus units_released.';
comment on column reporting.funnel.sell_through is 'units_sold / stock, 0 to 1.';
comment on column reporting.funnel.last_decision_at is 'When the last request was confirmed or rejected.';

create view reporting.timeline as
select
    sale_id,
    date_trunc('second', recorded_at) as second,
    count(*) filter (where type = 'PurchaseRequested') as requests,
    count(*) filter (where type = 'PurchaseConfirmed') as confirmed,
    count(*) filter (where type = 'PurchaseRejected') as rejected,
    coalesce(sum(quantity) filter (where type = 'PurchaseConfirmed'), 0) as units
from reporting.events
where type in ('PurchaseRequested', 'PurchaseConfirmed', 'PurchaseRejected')
group by sale_id, date_trunc('second', recorded_at);
comment on view reporting.timeline is 'One row per sale and second in which something was requested or decided.';
comment on column reporting.timeline.second is 'The beginning of the second.';
comment on column reporting.timeline.requests is 'Requests accepted in this second.';
comment on column reporting.timeline.confirmed is 'Requests confirmed in this second, whenever they were accepted.';
comment on column reporting.timeline.rejected is 'Requests rejected in this second, whenever they were accepted.';
comment on column reporting.timeline.units is 'Units of the purchases confirmed in this second.';

create view reporting.decision_latency as
select
    sale_id,
    decided,
    percentiles[1] as p50_ms,
    percentiles[2] as p90_ms,
    percentiles[3] as p99_ms,
    percentiles[4] as p99_9_ms,
    max_ms
from (
    select
        sale_id,
        count(*) as decided,
        percentile_disc(array[0.5, 0.9, 0.99, 0.999]) within group (order by latency_ms) as percentiles,
        max(latency_ms) as max_ms
    from (
        select
            r.sale_id,
            extract(epoch from d.recorded_at - r.recorded_at)::double precision * 1000 as latency_ms
        from reporting.events r
        join reporting.events d on d.stream_id = r.stream_id and d.version = 2
            and d.sale_id = r.sale_id -- always so; lets both sides use the index of a sale
        where r.version = 1 and r.type = 'PurchaseRequested'
    ) decisions
    group by sale_id
) latencies;
comment on view reporting.decision_latency is 'One row per sale: milliseconds from the acceptance of a request to its decision, by the database''s clock. A percentile is the latency of an actual request (nearest rank).';
comment on column reporting.decision_latency.decided is 'How many requests the percentiles are of; undecided ones are not in them.';
comment on column reporting.decision_latency.p50_ms is 'Half of the requests were decided at least as fast.';
comment on column reporting.decision_latency.p90_ms is '90 % of the requests were decided at least as fast.';
comment on column reporting.decision_latency.p99_ms is '99 % of the requests were decided at least as fast.';
comment on column reporting.decision_latency.p99_9_ms is '99.9 % of the requests were decided at least as fast.';
comment on column reporting.decision_latency.max_ms is 'The slowest decision.';

create view reporting.rejections as
select
    sale_id,
    reason,
    count(*) as count,
    count(*)::double precision / sum(count(*)) over (partition by sale_id)::double precision as share
from reporting.events
where type = 'PurchaseRejected'
group by sale_id, reason;
comment on view reporting.rejections is 'One row per sale and reason for which requests were rejected.';
comment on column reporting.rejections.reason is 'sold_out, limit_exceeded, sale_not_open, sale_paused, sale_closed or internal.';
comment on column reporting.rejections.count is 'Requests rejected for this reason.';
comment on column reporting.rejections.share is 'Part of the sale''s rejections, 0 to 1.';

create view reporting.orders as
select
    c.order_id,
    c.stream_id as request_id,
    c.sale_id,
    s.goods_id,
    s.name as goods_name,
    p.user_id,
    c.quantity,
    (c.data->>'amount')::bigint as amount,
    c.data->>'currency' as currency,
    case p.last_type
        when 'OrderPaid' then 'paid'
        when 'OrderCancelled' then 'cancelled'
        when 'OrderExpired' then 'expired'
        when 'OrderRefunded' then 'refunded'
        else 'pending_payment'
    end as status,
    (c.data->>'payBy')::timestamptz as pay_by,
    c.recorded_at as created_at,
    p.paid_at,
    p.ended_at
from reporting.events c
join sales s on s.sale_id = c.sale_id
cross join lateral ( -- the whole purchase, by the primary key
    select
        max(user_id) filter (where version = 1) as user_id,
        (array_agg(type order by version desc))[1] as last_type,
        max(recorded_at) filter (where type = 'OrderPaid') as paid_at,
        max(recorded_at) filter (where type in ('OrderCancelled', 'OrderExpired', 'OrderRefunded')) as ended_at
    from reporting.events
    where reporting.events.stream_id = c.stream_id
) p
where c.type = 'PurchaseConfirmed';
comment on view reporting.orders is 'One row per confirmed purchase with its goods and what became of it. Filter by sale_id, request_id or goods_id.';
comment on column reporting.orders.request_id is 'The purchase: stream_id in reporting.events.';
comment on column reporting.orders.goods_name is 'The name under which the goods were offered in the sale.';
comment on column reporting.orders.amount is 'Price times quantity in minor units of the currency (fen, cents); as confirmed, whether or not it was paid.';
comment on column reporting.orders.currency is 'ISO 4217. Never add amounts of different currencies.';
comment on column reporting.orders.status is 'pending_payment, paid, cancelled, expired or refunded.';
comment on column reporting.orders.pay_by is 'Unpaid orders expire then.';
comment on column reporting.orders.created_at is 'When the purchase was confirmed.';
comment on column reporting.orders.paid_at is 'When it was paid; kept when it is refunded.';
comment on column reporting.orders.ended_at is 'When it was cancelled, expired or refunded.';

-- Nobody but the owner has business with the tables and functions below the views.
revoke all on transaction_id_offset, events, checkpoints, sales, allowances, idempotency_keys, secrets, purchase_results, orders from public;
revoke all on function current_transaction_id(), transaction_id_horizon(), forbid_event_change(), keep_purchase_results(interval), uuid_at(timestamptz) from public;

-- The role belongs to the whole cluster, whose databases may be migrated at the
-- same time: who comes second finds the role there, or its row changed under its
-- hands, and looks again. What an administrator has set on it stays.
-- +goose StatementBegin
do $$
declare
    setting text[];
begin
    for attempt in 1..100 loop
        begin
            if to_regrole('seckill_reporting') is null then
                create role seckill_reporting login;
            end if;
            foreach setting slice 1 in array array[
                ['default_transaction_read_only', 'on'],
                ['statement_timeout', '30s'],
                ['idle_in_transaction_session_timeout', '10s']
            ] loop
                if not exists (
                    select from pg_db_role_setting, unnest(setconfig) as config
                    where setdatabase = 0 and setrole = to_regrole('seckill_reporting')
                        and starts_with(config, setting[1] || '=')
                ) then
                    execute format('alter role seckill_reporting set %I = %L', setting[1], setting[2]);
                end if;
            end loop;
            exit;
        exception
            when insufficient_privilege then
                raise warning 'cannot create or set up the role seckill_reporting: %', sqlerrm
                    using hint = 'docs/reporting.md says what an administrator has to run.';
                exit;
            when duplicate_object or unique_violation or internal_error then -- internal_error: tuple concurrently updated
                if attempt = 100 then
                    raise;
                end if;
                perform pg_sleep(0.02 * random());
        end;
    end loop;

    if to_regrole('seckill_reporting') is not null then
        grant usage on schema reporting to seckill_reporting;
        grant select on all tables in schema reporting to seckill_reporting;
    end if;
end
$$;
-- +goose StatementEnd
