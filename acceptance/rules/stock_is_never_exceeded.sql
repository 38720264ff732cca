-- No oversell: at no point in the order of events were fewer than no units free,
-- whatever was sold, added and removed.
select *
from (
    select *, sum(units) over (partition by sale_id order by transaction_id, position) as free
    from (
        select sale_id, 'SaleScheduled' as what, 0::bigint as transaction_id, 0::bigint as position, planned_stock as units from terms
        union all
        select sale_id, type, transaction_id, position, units from commands
        union all
        select sale_id, 'PurchaseConfirmed', transaction_id, position, -units from decisions where confirmed
    ) moves
) balances
where free < 0
