-- Who was told that there is no such request, had not been promised one; also not by a
-- 503 after which the request was there all the same.
select u.*, to_jsonb(r) as event
from unknown u
join requests r on r.request_id = u.asked
where r.accepted_at < u.told_at
