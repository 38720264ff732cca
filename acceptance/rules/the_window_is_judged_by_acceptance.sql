-- A request wins only if it was accepted while the sale was on, to the microsecond,
-- by the database's clock; and it is told of the window, of a pause or of the closing
-- only if it was not.
select d.*, t.opens_at, t.closes_at, t.closed_at, expected.reason as expected
from decisions d
join terms t using (sale_id)
cross join lateral (
    select case
        when d.accepted_at >= least(t.closes_at, t.closed_at) then 'sale_closed'
        when d.accepted_at < t.opens_at then 'sale_not_open'
        when exists (
            select from pauses p
            where p.sale_id = d.sale_id and d.accepted_at >= p.since and (p.until is null or d.accepted_at < p.until)
        ) then 'sale_paused'
    end as reason
) expected
where expected.reason is distinct from
    case when d.reason in ('sale_closed', 'sale_not_open', 'sale_paused') then d.reason end
