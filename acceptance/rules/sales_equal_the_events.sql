-- A sale's row shows its terms, its pauses and the units that are free. Its revision
-- has grown with every transaction that decided, released or carried out a command.
with expected as (
    select
        t.sale_id,
        t.goods_id,
        t.name,
        t.price,
        t.currency,
        t.stock,
        t.stock - coalesce(m.sold, 0) as available,
        t.per_user_limit,
        t.opens_at,
        t.closes_at,
        t.closed_at,
        coalesce(p.paused_at, '{}') as paused_at,
        coalesce(p.resumed_at, '{}') as resumed_at,
        (extract(epoch from t.payment_timeout) * 1e6)::bigint as payment_timeout_us,
        coalesce(m.transactions, 0) + coalesce(c.transactions, 0) as transactions
    from terms t
    left join (
        select sale_id, sum(sold) as sold, count(distinct transaction_id) as transactions
        from movements
        group by sale_id
    ) m using (sale_id)
    left join (
        select sale_id, count(distinct transaction_id) as transactions
        from commands
        group by sale_id
    ) c using (sale_id)
    left join (
        select
            sale_id,
            array_agg(since order by since) as paused_at,
            array_agg(until order by since) filter (where until is not null) as resumed_at
        from pauses
        group by sale_id
    ) p using (sale_id)
)
select to_jsonb(e) as expected, to_jsonb(s) as stored
from expected e
full join sales s using (sale_id)
where (
        e.sale_id, e.goods_id, e.name, e.price, e.currency, e.stock, e.available, e.per_user_limit,
        e.opens_at, e.closes_at, e.closed_at, e.paused_at, e.resumed_at, e.payment_timeout_us
    ) is distinct from (
        s.sale_id, s.goods_id, s.name, s.price, s.currency, s.stock, s.available, s.per_user_limit,
        s.opens_at, s.closes_at, s.closed_at, s.paused_at, s.resumed_at, s.payment_timeout_us
    )
    or s.revision <= e.transactions
