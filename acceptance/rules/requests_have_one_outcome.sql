-- Every accepted request reaches exactly one outcome, the second event of its
-- stream; and there is no outcome of anything else.
select
    stream_id as request_id,
    array_agg(type order by version) as types,
    array_agg(version order by version) as versions,
    array_agg(distinct sale_id) as sale_ids
from events
where type in ('PurchaseRequested', 'PurchaseConfirmed', 'PurchaseRejected')
group by stream_id
having count(*) filter (where type = 'PurchaseRequested' and version = 1) <> 1
    or count(*) filter (where type <> 'PurchaseRequested' and version = 2) <> 1
    or count(*) <> 2
    or count(distinct sale_id) <> 1
