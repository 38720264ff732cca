-- A request wins only if it was accepted while the sale was on, to the microsecond,
-- by the database's clock; and it is told of the window only if it was not.
select d.*, t.opens_at, t.closes_at
from decisions d
join terms t using (sale_id)
where (d.accepted_at < t.opens_at) <> (coalesce(d.reason, '') = 'sale_not_open')
    or (d.accepted_at >= t.closes_at) <> (coalesce(d.reason, '') = 'sale_closed')
