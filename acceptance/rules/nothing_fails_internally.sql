-- Every request can be decided: what dies or freezes costs nobody the purchase.
select *
from decisions
where not confirmed
    and reason not in ('limit_exceeded', 'sale_closed', 'sale_not_open', 'sale_paused', 'sold_out')
