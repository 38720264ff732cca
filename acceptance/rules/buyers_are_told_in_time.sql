-- Who waits for a result is told when it is there, not at the end of the wait; and
-- whoever asks later is not told of the time before. The bounds are wide, for machines
-- that have much else to do; nodes that could not do their work are excused.
select
    t.how,
    t.node,
    t.request_id,
    t.status,
    t.sent_at,
    d.decided_at,
    t.told_at,
    t.told_at - d.decided_at as late
from told t
join decisions d using (request_id)
where (
        t.sent_at < d.decided_at and t.how in ('long poll', 'sse') and t.told_at > d.decided_at + interval '8 seconds'
        or t.status = 'processing' and t.sent_at > d.decided_at + interval '4 seconds'
    )
    and not exists (
        select from disturbed b
        where b.node = t.node and b.since < t.told_at and t.sent_at < b.until
    )
