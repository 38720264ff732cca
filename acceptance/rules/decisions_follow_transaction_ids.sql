-- A sale's lock comes before the transaction ID: in the order of transaction IDs the
-- decisions of a sale are in the order in which they were made.
select *
from (
    select
        sale_id,
        request_id,
        transaction_id,
        position,
        decided_at,
        lag(transaction_id) over earlier as transaction_id_before,
        lag(position) over earlier as position_before,
        lag(decided_at) over earlier as decided_at_before
    from decisions
    window earlier as (partition by sale_id order by transaction_id, position)
) pairs
where position < position_before
    or decided_at < decided_at_before
