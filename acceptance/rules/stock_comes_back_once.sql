-- The units of an order come back at most once, and as many as were confirmed.
select t.request_id, array_agg(t.type order by t.version) as types, sum(t.released) as released, sum(t.restocked) as restocked, d.units
from turns t
left join decisions d using (request_id)
group by t.request_id, d.units
having count(*) filter (where t.released > 0) > 1
    or sum(t.released) not in (0, d.units)
    or sum(t.restocked) not in (0, d.units)
    or d.units is null
    or count(*) filter (where t.type <> 'OrderPaid' and t.released <= 0) > 0
