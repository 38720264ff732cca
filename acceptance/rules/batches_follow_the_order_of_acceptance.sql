-- Who is decided together is decided in the order of acceptance.
select *
from (
    select
        d.sale_id,
        d.request_id,
        d.transaction_id as decided_by,
        (r.transaction_id, r.position)::text as accepted,
        lag((r.transaction_id, r.position)::text) over together as the_one_before,
        (r.transaction_id, r.position) < lag((r.transaction_id, r.position)) over together as inverted
    from decisions d
    join requests r using (request_id)
    window together as (partition by d.sale_id, d.transaction_id order by d.position)
) pairs
where inverted
