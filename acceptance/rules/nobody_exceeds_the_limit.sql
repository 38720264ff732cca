-- Nobody holds more than a buyer may, at any moment.
select d.*, t.per_user_limit
from decisions d
join terms t using (sale_id)
where d.held_before + d.units > t.per_user_limit
