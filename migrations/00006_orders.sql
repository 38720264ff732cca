-- The life of an order: finding those that are overdue, a buyer's orders and a
-- buyer's requests. Every index is paid for by the purchases, so there is one for
-- each question and none besides.

-- +goose Up

-- For the expiry, which asks every moment. It has only what waits for payment, so
-- the answer "none" costs one page.
create index orders_overdue on orders (pay_by) where status = 'pending_payment';

-- For a buyer's orders, newest first.
create index orders_of_a_user on orders (user_id, created_at);

-- For a buyer's requests of a sale, newest first: the undecided and the rejected
-- ones too, so no read model has them, and the results are kept for minutes only.
-- It costs each purchase one entry, not each event. With the sale in front, the
-- entries of the sale that is on lie together in memory, and a user who has bought
-- for years is as fast as a new one.
create index events_requests_of_a_user on events (sale_id, (data->>'userId'), transaction_id) where version = 1;
