-- What each buyer holds is what the events say, with the purchase won last of those
-- that are still held. Who holds nothing any more has an empty row.
with holdings as (
    select sale_id, user_id, sum(held) as quantity
    from movements
    group by sale_id, user_id
),
named as (
    select distinct on (sale_id, user_id) sale_id, user_id, request_id, order_id
    from decisions d
    where confirmed
        and not exists (select from turns t where t.request_id = d.request_id and t.released > 0)
    order by sale_id, user_id, transaction_id desc, position desc
),
expected as (
    select
        sale_id,
        user_id,
        h.quantity,
        coalesce(n.request_id, '00000000-0000-0000-0000-000000000000') as request_id,
        coalesce(n.order_id, '') as order_id
    from holdings h
    left join named n using (sale_id, user_id)
    where exists (select from decisions d where d.confirmed and d.sale_id = h.sale_id and d.user_id = h.user_id)
)
select to_jsonb(e) as expected, to_jsonb(a) as stored
from expected e
full join allowances a using (sale_id, user_id)
where to_jsonb(e) is distinct from to_jsonb(a)
