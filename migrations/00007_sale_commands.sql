-- What an operator did to a sale. A node of the version before runs on beside it:
-- it leaves these columns alone, and decides as if there were none.

-- +goose Up

alter table sales
    add column closed_at timestamptz, -- by hand
    -- The n-th pause lasts from the n-th moment of paused_at to the n-th of resumed_at,
    -- or is going on.
    add column paused_at timestamptz[] not null default '{}',
    add column resumed_at timestamptz[] not null default '{}',
    add constraint sales_one_pause_at_a_time
        check (cardinality(paused_at) - cardinality(resumed_at) between 0 and 1);

-- A sale's status at a moment, as domain.Sale.Status says it, for lists to filter by.
create function sale_status(sale sales, moment timestamptz) returns text
language sql immutable
return case
    when sale.closed_at is not null or moment >= sale.closes_at then 'closed'
    when moment < sale.opens_at then 'scheduled'
    when cardinality(sale.paused_at) > cardinality(sale.resumed_at) then 'paused'
    when sale.available = 0 then 'sold_out'
    else 'open'
end;
revoke all on function sale_status(sales, timestamptz) from public;
