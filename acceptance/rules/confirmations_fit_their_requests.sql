-- A buyer gets the units that were asked for, at the sale's price, under an order
-- number of their own, reserved for the sale's time from the decision on. (The
-- transaction that decides may take some seconds.)
select d.*, t.price, t.payment_timeout
from decisions d
join terms t using (sale_id)
where d.confirmed
    and (
        d.units <> d.quantity
        or d.amount <> t.price * d.quantity
        or d.currency <> t.currency
        or d.order_id !~ '^[0-9A-HJKMNP-TV-Z]{3}-[0-9A-HJKMNP-TV-Z]{3}-[0-9A-HJKMNP-TV-Z]{3}$'
        or d.pay_by not between d.decided_at + t.payment_timeout - interval '5 seconds' and d.decided_at + t.payment_timeout
        or exists (select from decisions other where other.order_id = d.order_id and other.request_id <> d.request_id)
    )
