-- There is a result for each request, and it is what was decided.
with expected as (
    select
        request_id,
        version,
        sale_id,
        user_id,
        quantity,
        case when confirmed then 'succeeded' else 'failed' end as status,
        reason,
        order_id,
        existing_request_id,
        existing_order_id,
        pay_by,
        accepted_at,
        decided_at
    from decisions
)
select to_jsonb(e) as expected, to_jsonb(p) as stored
from expected e
full join purchase_results p using (request_id)
where to_jsonb(e) is distinct from to_jsonb(p)
