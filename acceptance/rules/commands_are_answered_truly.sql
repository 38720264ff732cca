-- Whoever was told what a command did to an order was told the truth: it is recorded
-- under just that reference, or it was refused for what had happened by then.
select c.*, d.pay_by, t.turns
from commanded c
left join decisions d using (order_id)
cross join lateral (
    select jsonb_agg(to_jsonb(turns) order by version) as turns
    from turns
    where turns.request_id = d.request_id
) t
where (
        case
            when c.command = 'pay' and c.answer in ('paid', 'refunded') then
                t.turns @> jsonb_build_array(jsonb_build_object('type', 'OrderPaid', 'payment_reference', c.reference))
            when c.command = 'refund' and c.answer = 'refunded' then
                t.turns @> jsonb_build_array(jsonb_build_object('type', 'OrderRefunded', 'payment_reference', c.reference))
            when c.command = 'cancel' and c.answer = 'cancelled' then t.turns @> '[{"type": "OrderCancelled"}]'
            when c.answer = 'order_paid' then t.turns @> '[{"type": "OrderPaid"}]'
            when c.answer = 'order_cancelled' then t.turns @> '[{"type": "OrderCancelled"}]'
            when c.answer in ('order_expired', 'payment_too_late') then
                c.told_at >= d.pay_by and not coalesce(t.turns @> '[{"type": "OrderPaid"}]', false)
            when c.answer = 'order_not_paid' then
                not exists (
                    select from turns p
                    where p.request_id = d.request_id and p.type = 'OrderPaid' and p.recorded_at < c.sent_at
                )
        end
    ) is not true
