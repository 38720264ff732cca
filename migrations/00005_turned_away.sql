-- Reporting on the purchases that were refused at the door.

-- +goose Up

create or replace view reporting.funnel as
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
    e.last_decision_at,
    e.turned_away
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
        max(recorded_at) filter (where type in ('PurchaseConfirmed', 'PurchaseRejected')) as last_decision_at,
        coalesce(sum((data->>'count')::bigint) filter (where type = 'PurchasesTurnedAway'), 0)::bigint as turned_away
    from reporting.events
    where reporting.events.sale_id = s.sale_id
) e;
comment on column reporting.funnel.turned_away is 'Purchases refused at the door, which are not among the requests.';

create or replace view reporting.timeline as
select
    sale_id,
    date_trunc('second', recorded_at) as second,
    count(*) filter (where type = 'PurchaseRequested') as requests,
    count(*) filter (where type = 'PurchaseConfirmed') as confirmed,
    count(*) filter (where type = 'PurchaseRejected') as rejected,
    coalesce(sum(quantity) filter (where type = 'PurchaseConfirmed'), 0) as units,
    coalesce(sum((data->>'count')::bigint) filter (where type = 'PurchasesTurnedAway'), 0)::bigint as turned_away
from reporting.events
where type in ('PurchaseRequested', 'PurchaseConfirmed', 'PurchaseRejected', 'PurchasesTurnedAway')
group by sale_id, date_trunc('second', recorded_at);
comment on view reporting.timeline is 'One row per sale and second in which something was requested, decided or turned away.';
comment on column reporting.timeline.turned_away is 'Purchases that nodes refused at the door in about the second before.';

create view reporting.turned_away as
select
    sale_id,
    reason,
    sum((data->>'count')::bigint)::bigint as count,
    min(recorded_at) as first_reported_at,
    max(recorded_at) as last_reported_at
from reporting.events
where type = 'PurchasesTurnedAway'
group by sale_id, reason;
comment on view reporting.turned_away is 'One row per sale and reason for which purchases were refused at the door, before they were accepted. Nodes report about once a second; one that dies keeps its last second to itself.';
comment on column reporting.turned_away.reason is 'sold_out, sale_not_open, sale_paused or sale_closed.';
comment on column reporting.turned_away.count is 'How many, by all nodes.';

-- The role may be missing, where the owner of the database cannot create it.
-- +goose StatementBegin
do $$
begin
    if to_regrole('seckill_reporting') is not null then
        grant select on reporting.turned_away to seckill_reporting;
    end if;
end
$$;
-- +goose StatementEnd
