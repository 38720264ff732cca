-- A sale is paused only while it is on, and resumed only while it is paused.
select *
from (
    select
        sale_id,
        type,
        version,
        coalesce(lag(type) over (partition by sale_id order by version), 'SaleResumed') as type_before
    from commands
    where type in ('SalePaused', 'SaleResumed')
) turns
where type = type_before
