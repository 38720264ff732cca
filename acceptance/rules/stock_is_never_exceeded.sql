-- No oversell: at no point in the order of events were fewer than no units free, or
-- more than there were, whatever was sold, released, added and removed; nor had a
-- buyer given back more than was held.
select *
from (
    select
        *,
        sum(stocked - sold) over points as free,
        sum(stocked) over points as stock
    from (
        select sale_id, 0::bigint as transaction_id, 0::bigint as position, planned_stock as stocked, 0::bigint as sold, 0::numeric as held from terms
        union all
        select sale_id, transaction_id, position, units, 0, 0 from commands
        union all
        select sale_id, transaction_id, position, 0, sold, held_before + held from movements
    ) moves
    window points as (partition by sale_id order by transaction_id, position)
) balances
where free not between 0 and stock
    or held < 0
