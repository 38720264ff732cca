-- What each buyer holds is what the events say, with the purchase won last.
with expected as (
    select distinct on (sale_id, user_id)
        sale_id,
        user_id,
        held_before + units as quantity,
        request_id,
        order_id
    from decisions
    where confirmed
    order by sale_id, user_id, transaction_id desc, position desc
)
select to_jsonb(e) as expected, to_jsonb(a) as stored
from expected e
full join allowances a using (sale_id, user_id)
where to_jsonb(e) is distinct from to_jsonb(a)
