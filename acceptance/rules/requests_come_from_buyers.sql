-- No purchase was made that nobody asked for: a buyer has at most one request for
-- each key, and one for each POST without a key.
select r.sale_id, r.user_id, r.quantity, r.requests, s.orders
from (
    select sale_id, user_id, quantity, count(*) as requests
    from requests
    group by sale_id, user_id, quantity
) r
left join (
    select
        sale_id,
        user_id,
        quantity,
        count(distinct key) filter (where key <> '') + count(*) filter (where key = '') as orders
    from sent
    group by sale_id, user_id, quantity
) s using (sale_id, user_id, quantity)
where r.requests > coalesce(s.orders, 0)
