-- A sale's lock comes before the transaction ID: in the order of transaction IDs the
-- decisions and releases of a sale are in the order in which they were made.
select *
from (
    select
        sale_id,
        request_id,
        version,
        transaction_id,
        position,
        recorded_at,
        lag(transaction_id) over earlier as transaction_id_before,
        lag(position) over earlier as position_before,
        lag(recorded_at) over earlier as recorded_at_before
    from movements
    window earlier as (partition by sale_id order by transaction_id, position)
) pairs
where position < position_before
    or recorded_at < recorded_at_before
