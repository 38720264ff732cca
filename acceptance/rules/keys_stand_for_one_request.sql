-- A buyer's idempotency key stands for one request, whatever node it was sent to and
-- however often; and for one that was accepted.
select coalesce(t.user_id, k.user_id) as user_id, coalesce(t.key, k.key) as key, t.request_ids as told, k.request_id as stored
from (
    select user_id, key, array_agg(distinct request_id) as request_ids
    from told
    where key <> ''
    group by user_id, key
) t
full join idempotency_keys k using (user_id, key)
where t.request_ids is not null and t.request_ids is distinct from array[k.request_id]
    or not exists (select from requests r where r.request_id = k.request_id and r.user_id = k.user_id)
