-- Whatever a buyer was told, pushed or polled, by whatever node, is what was
-- decided; and it is about the request that was asked for.
select t.*, to_jsonb(d) as decision
from told t
left join decisions d using (request_id)
where t.asked not in ('', t.request_id::text)
    or case t.status
        when 'processing' then
            num_nonnulls(t.success, t.reason, t.order_id, t.existing_request_id, t.existing_order_id, t.pay_by, t.decided_at) > 0
        else
            (t.status, t.success, t.reason, t.order_id, t.existing_request_id, t.existing_order_id, t.pay_by, t.decided_at)
            is distinct from (
                case when d.confirmed then 'succeeded' else 'failed' end,
                d.confirmed, d.reason, d.order_id, d.existing_request_id, d.existing_order_id, d.pay_by, d.decided_at
            )
    end
