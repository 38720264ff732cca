-- Who is turned away for the limit holds too many units already, and is told of the
-- purchase won last before that, of those held at that point, and of its order.
select d.*, t.per_user_limit, won.request_id as won_request_id, won.order_id as won_order_id
from decisions d
join terms t using (sale_id)
left join lateral (
    select w.request_id, w.order_id
    from decisions w
    where w.confirmed
        and w.sale_id = d.sale_id
        and w.user_id = d.user_id
        and (w.transaction_id, w.position) < (d.transaction_id, d.position)
        and not exists (
            select from turns t
            where t.request_id = w.request_id
                and t.released > 0
                and (t.transaction_id, t.position) < (d.transaction_id, d.position)
        )
    order by w.transaction_id desc, w.position desc
    limit 1
) won on true
where d.reason = 'limit_exceeded'
    and (
        d.held_before + d.quantity <= t.per_user_limit
        or won.request_id is null
        or (d.existing_request_id, d.existing_order_id) is distinct from (won.request_id, won.order_id)
    )
