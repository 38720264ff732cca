-- No undersell: who is told that everything is sold asked for more than was free at
-- that point in the order of decisions.
select d.*, t.planned_stock + changed.units - d.sold_before as free
from decisions d
join terms t using (sale_id)
cross join lateral (
    select coalesce(sum(c.units), 0) as units
    from commands c
    where c.sale_id = d.sale_id and (c.transaction_id, c.position) < (d.transaction_id, d.position)
) changed
where d.reason = 'sold_out'
    and d.quantity <= t.planned_stock + changed.units - d.sold_before
