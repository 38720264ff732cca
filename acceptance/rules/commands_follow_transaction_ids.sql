-- A command takes the sale's lock before it gets a transaction ID, as decisions and releases do:
-- in the order of transaction IDs all are in the order in which they were made. And a
-- command finds the sale as the one before left it.
select *
from (
    select
        *,
        lag(recorded_at) over earlier as recorded_at_before,
        lag(version) over of_the_operator as version_before,
        lag(type) over of_the_operator as type_before
    from (
        select sale_id, type, version, transaction_id, position, recorded_at, true as by_operator from commands
        union all
        select sale_id, 'movement', version, transaction_id, position, recorded_at, false from movements
    ) deeds
    window
        earlier as (partition by sale_id order by transaction_id, position),
        of_the_operator as (partition by sale_id, by_operator order by transaction_id, position)
) pairs
where recorded_at < recorded_at_before
    or by_operator and (version <> coalesce(version_before, 1) + 1 or type_before = 'SaleClosed')
