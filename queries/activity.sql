-- name: EndOfActivityBatch :one
-- The last transaction of the next batch of the log after a checkpoint: that of the
-- event after so many others, or of the last that can be read by now.
select coalesce(
    (
        select e.transaction_id from events e
        where e.transaction_id > @after::bigint and e.transaction_id < transaction_id_horizon()
        order by e.transaction_id, e.position
        offset @skipped
        limit 1
    ),
    greatest(transaction_id_horizon() - 1, @after)
)::bigint;

-- name: AddActivity :exec
-- Adds what transactions after one and up to another recorded, to its second and to
-- the sum of all, which is that of the second '-infinity': whole transactions, in the
-- transaction that moves the checkpoint, so each counts once.
insert into sale_activity as a (sale_id, second, requests, confirmed, rejected, turned_away, paid, refunded)
select e.sale_id,
    coalesce(e.second, '-infinity'),
    count(*) filter (where e.type = 'PurchaseRequested'),
    count(*) filter (where e.type = 'PurchaseConfirmed'),
    count(*) filter (where e.type = 'PurchaseRejected'),
    coalesce(sum((e.data->>'count')::bigint) filter (where e.type = 'PurchasesTurnedAway'), 0),
    count(*) filter (where e.type = 'OrderPaid'),
    count(*) filter (where e.type = 'OrderRefunded')
from (
    select sale_id, date_trunc('second', recorded_at) as second, type, data from events
    where transaction_id > @after::bigint
        and transaction_id <= @up_to::bigint
        and type in ('PurchaseRequested', 'PurchaseConfirmed', 'PurchaseRejected', 'PurchasesTurnedAway', 'OrderPaid', 'OrderRefunded')
) e
group by grouping sets ((e.sale_id, e.second), (e.sale_id))
on conflict (sale_id, second) do update
set requests = a.requests + excluded.requests,
    confirmed = a.confirmed + excluded.confirmed,
    rejected = a.rejected + excluded.rejected,
    turned_away = a.turned_away + excluded.turned_away,
    paid = a.paid + excluded.paid,
    refunded = a.refunded + excluded.refunded;

-- name: GetActivity :many
-- The latest seconds of a sale in which anything happened, oldest first.
select a.second, a.requests, a.confirmed, a.rejected, a.turned_away
from sale_activity a
where a.sale_id = @sale_id and a.second > clock_timestamp() - @span::interval
order by a.second;
