-- Who was refused at the door was refused for a reason that held then: the window by
-- the time of the call, the stock by what had been sold or removed when the answer
-- came and had not come back or been added well before the call. (The door looks at
-- most a second back, for the window three, and a transaction may take some seconds
-- after what it records.)
select r.*, t.opens_at, t.closes_at, t.closed_at, t.per_user_limit, stock.units as stock, sold.units as sold
from refused r
left join terms t using (sale_id)
cross join lateral (
    select t.planned_stock + coalesce(sum(c.units), 0) as units
    from commands c
    where c.sale_id = r.sale_id
        and c.recorded_at <= case when c.units < 0 then r.told_at else r.sent_at - interval '6 seconds' end
) stock
cross join lateral (
    select coalesce(sum(m.sold), 0) as units
    from movements m
    where m.sale_id = r.sale_id
        and m.recorded_at <= case when m.sold > 0 then r.told_at else r.sent_at - interval '6 seconds' end
) sold
where (
        case r.code
            when 'quantity_over_limit' then r.quantity > t.per_user_limit
            when 'sale_closed' then r.told_at >= t.closed_at or exists (
                select from windows w
                where w.sale_id = r.sale_id and r.told_at >= w.closes_at
                    and r.told_at >= w.since and (w.until is null or r.sent_at < w.until + interval '6 seconds')
            )
            when 'sale_not_open' then exists (
                select from windows w
                where w.sale_id = r.sale_id and r.sent_at < w.opens_at
                    and r.told_at >= w.since and (w.until is null or r.sent_at < w.until + interval '6 seconds')
            )
            when 'sale_paused' then exists (
                select from pauses p
                where p.sale_id = r.sale_id and r.told_at >= p.since and (p.until is null or r.sent_at < p.until + interval '6 seconds')
            )
            when 'sold_out' then r.quantity > stock.units - sold.units
        end
    ) is not true
