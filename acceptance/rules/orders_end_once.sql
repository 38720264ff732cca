-- An order has one end: it is cancelled, or it expires, or it is paid and may be
-- refunded then. What is paid is paid in time and in full, what expires had its time,
-- and what is cancelled was not overdue. (The transaction that records it may take
-- some seconds.)
select d.request_id, d.order_id, d.pay_by, d.amount, t.types, t.at
from decisions d
cross join lateral (
    select
        coalesce(array_agg(type order by version), '{}') as types,
        array_agg(version order by version) as versions,
        array_agg(recorded_at order by version) as at,
        min(amount) as paid
    from turns
    where turns.request_id = d.request_id
) t
where t.types not in (
        '{}', '{OrderCancelled}', '{OrderExpired}', '{OrderPaid}', '{OrderPaid,OrderRefunded}'
    )
    or t.types <> '{}' and not d.confirmed
    or t.versions[1] <> 3
    or t.types[1] = 'OrderExpired' and t.at[1] < d.pay_by
    or t.types[1] in ('OrderPaid', 'OrderCancelled') and t.at[1] > d.pay_by + interval '5 seconds'
    or t.types[1] = 'OrderPaid' and t.paid <> d.amount
