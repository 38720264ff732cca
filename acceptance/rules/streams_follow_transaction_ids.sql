-- Whoever reads the log in the order of transaction IDs meets the events of a stream
-- in the order of their versions: no decision comes before its request.
select *
from (
    select
        stream_id,
        version,
        type,
        transaction_id,
        position,
        lag(type) over earlier as type_before,
        lag(transaction_id) over earlier as transaction_id_before,
        (transaction_id, position) < lag((transaction_id, position)) over earlier as inverted
    from events
    window earlier as (partition by stream_id order by version)
) pairs
where inverted
