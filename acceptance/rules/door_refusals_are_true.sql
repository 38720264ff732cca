-- Who was refused at the door was refused for a reason that held then: the window by
-- the time of the call, the stock by what had been sold when the answer came.
select r.*, t.opens_at, t.closes_at, t.per_user_limit, t.stock, sold.units as sold
from refused r
left join terms t using (sale_id)
cross join lateral (
    select coalesce(sum(d.units), 0) as units
    from decisions d
    where d.sale_id = r.sale_id and d.decided_at <= r.told_at
) sold
where (
        case r.code
            when 'quantity_over_limit' then r.quantity > t.per_user_limit
            when 'sale_closed' then r.told_at >= t.closes_at
            when 'sale_not_open' then r.sent_at < t.opens_at
            when 'sold_out' then r.quantity > t.stock - sold.units
        end
    ) is not true
