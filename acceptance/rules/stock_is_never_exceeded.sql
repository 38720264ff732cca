-- No oversell: at no point in the order of decisions and releases had more been sold
-- than there was, nor had more come back than had been sold.
select m.*, t.stock
from movements m
join terms t using (sale_id)
where m.sold_before + m.sold not between 0 and t.stock
    or m.held_before + m.held < 0
