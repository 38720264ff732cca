-- A past: 1,000 sales that are over, each with 5,000 requests of which 500 won. That
-- makes ten million events. They and what they left in the read models are written
-- directly, below the transaction IDs of today; the results were dropped long ago.
update transaction_id_offset set value = value + 1000000;
update checkpoints set transaction_id = 1000000;

insert into sales (sale_id, goods_id, name, price, currency, stock, available, per_user_limit, opens_at, closes_at, payment_timeout_us)
select s, s, 'Past sale ' || s, 199900, 'CNY', 500, 0, 1, opens_at, opens_at + interval '1 hour', 900000000
from (select s, clock_timestamp() - (1001 - s) * interval '2 hours' as opens_at from generate_series(1, 1000) s) past;

create temporary table past as
select sale_id,
    (lpad(to_hex((extract(epoch from opens_at) * 1000)::bigint + i), 12, '0') || '7' || substr(md5(sale_id || '-' || i), 14))::uuid as request_id,
    'user-' || sale_id * 5000 + i as user_id,
    opens_at + i * interval '1 ms' as accepted_at,
    sale_id * 20 + i / 500 * 2 as transaction_id,
    i <= 500 as won,
    'P' || sale_id * 5000 + i as order_id
from sales, generate_series(1, 5000) i
where sale_id <= 1000;

insert into events (stream_id, version, transaction_id, sale_id, type, data, metadata, recorded_at)
select request_id, version, transaction_id + version - 1, sale_id,
    case when version = 1 then 'PurchaseRequested' when won then 'PurchaseConfirmed' else 'PurchaseRejected' end,
    case
        when version = 1 then jsonb_build_object('userId', user_id, 'quantity', 1)
        when won then jsonb_build_object('orderId', order_id, 'quantity', 1, 'amount', 199900, 'currency', 'CNY', 'payBy', accepted_at + interval '15 minutes')
        else '{"reason": "sold_out"}'
    end,
    case version when 1 then jsonb_build_object('userId', user_id) else '{"job": 1}' end,
    accepted_at + (version - 1) * interval '20 ms'
from past, generate_series(1, 2) version
order by transaction_id, version;

insert into orders (order_id, version, request_id, sale_id, user_id, quantity, amount, currency, status, pay_by, created_at, paid_at)
select order_id, 3, request_id, sale_id, user_id, 1, 199900, 'CNY', 'paid', accepted_at + interval '15 minutes', accepted_at, accepted_at
from past where won;

insert into allowances (sale_id, user_id, quantity, request_id, order_id)
select sale_id, user_id, 1, request_id, order_id from past where won;

insert into sale_activity (sale_id, second, requests, confirmed, rejected, turned_away)
select sale_id, date_trunc('second', accepted_at), count(*), count(*) filter (where won), count(*) filter (where not won), 0
from past group by 1, 2;

drop table past;
