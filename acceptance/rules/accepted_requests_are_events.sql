-- A 202 means durable: each is the event of just that request.
select t.how, t.node, t.sent_at, t.request_id, t.sale_id, t.user_id, t.quantity, to_jsonb(r) as event
from told t
left join requests r using (request_id)
where (t.sale_id, t.user_id, t.quantity, t.accepted_at)
    is distinct from (r.sale_id, r.user_id, r.quantity, r.accepted_at)
