-- There is an order for each purchase that was won, and no other, and it shows what
-- has become of it.
with expected as (
    select
        d.order_id,
        d.version + t.count as version,
        d.request_id,
        d.sale_id,
        d.user_id,
        d.units as quantity,
        d.amount,
        d.currency,
        case t.last
            when 'OrderPaid' then 'paid'
            when 'OrderCancelled' then 'cancelled'
            when 'OrderExpired' then 'expired'
            when 'OrderRefunded' then 'refunded'
            else 'pending_payment'
        end as status,
        d.pay_by,
        d.decided_at as created_at,
        t.paid_at,
        t.ended_at
    from decisions d
    cross join lateral (
        select
            count(*) as count,
            (array_agg(type order by version desc))[1] as last,
            min(recorded_at) filter (where type = 'OrderPaid') as paid_at,
            min(recorded_at) filter (where type <> 'OrderPaid') as ended_at
        from turns
        where turns.request_id = d.request_id
    ) t
    where d.confirmed
)
select to_jsonb(e) as expected, to_jsonb(o) as stored
from expected e
full join orders o using (order_id)
where to_jsonb(e) is distinct from to_jsonb(o)
