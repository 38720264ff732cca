-- There is an order for each purchase that was won, and no other.
with expected as (
    select
        order_id,
        version,
        request_id,
        sale_id,
        user_id,
        units as quantity,
        amount,
        currency,
        'pending_payment' as status,
        pay_by,
        decided_at as created_at,
        null::timestamptz as paid_at,
        null::timestamptz as ended_at
    from decisions
    where confirmed
)
select to_jsonb(e) as expected, to_jsonb(o) as stored
from expected e
full join orders o using (order_id)
where to_jsonb(e) is distinct from to_jsonb(o)
