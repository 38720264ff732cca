-- Who was refused at the door was refused for a reason that held then: the window by
-- the time of the call, the stock by what had been sold when the answer came and had
-- not come back well before the call. (The door looks at most a second back, and a
-- transaction may take some seconds after what it records.)
select r.*, t.opens_at, t.closes_at, t.per_user_limit, t.stock, sold.units as sold
from refused r
left join terms t using (sale_id)
cross join lateral (
    select coalesce(sum(m.sold), 0) as units
    from movements m
    where m.sale_id = r.sale_id
        and m.recorded_at <= case when m.sold > 0 then r.told_at else r.sent_at - interval '6 seconds' end
) sold
where (
        case r.code
            when 'quantity_over_limit' then r.quantity > t.per_user_limit
            when 'sale_closed' then r.told_at >= t.closes_at
            when 'sale_not_open' then r.sent_at < t.opens_at
            when 'sold_out' then r.quantity > t.stock - sold.units
        end
    ) is not true
