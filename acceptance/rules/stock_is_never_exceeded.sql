-- No oversell: at no point in the order of decisions had more been sold than there
-- was.
select d.*, t.stock
from decisions d
join terms t using (sale_id)
where d.sold_before + d.units > t.stock
