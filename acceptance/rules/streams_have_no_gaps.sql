-- The versions of a stream count from 1.
select stream_id, array_agg(version order by version) as versions, array_agg(type order by version) as types
from events
group by stream_id
having min(version) <> 1 or max(version) <> count(*)
