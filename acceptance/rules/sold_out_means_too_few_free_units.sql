-- No undersell: who is told that everything is sold asked for more than was free at
-- that point in the order of decisions.
select d.*, t.stock - d.sold_before as free
from decisions d
join terms t using (sale_id)
where d.reason = 'sold_out'
    and d.quantity <= t.stock - d.sold_before
