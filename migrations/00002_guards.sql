-- The write side's own state: what is locked and read to decide a purchase.

-- +goose Up

create sequence sale_ids start 1001;

-- One row per sale; its lock is what makes decisions of one sale one after another.
create table sales (
    sale_id bigint primary key,
    goods_id bigint not null,
    name text not null,
    price bigint not null check (price >= 0),
    currency text not null,
    stock bigint not null check (stock >= 0),
    available bigint not null check (available >= 0),
    per_user_limit integer not null check (per_user_limit > 0),
    opens_at timestamptz not null,
    closes_at timestamptz not null check (closes_at > opens_at),
    payment_timeout_us bigint not null,
    revision bigint not null default 1,
    constraint sales_available_at_most_stock check (available <= stock)
) with (fillfactor = 50); -- room for the many updates of one row to stay on its page (HOT)
create index sales_goods_id on sales (goods_id);
create index sales_closes_at on sales (closes_at);

-- Units that a user holds of a sale, and the purchase that was confirmed last.
create table allowances (
    sale_id bigint not null, -- no reference: the sale's row is locked, and a check per row costs as much as the row
    user_id text not null,
    quantity bigint not null check (quantity >= 0),
    request_id uuid not null,
    order_id text not null,
    primary key (sale_id, user_id)
);

-- Orders are numbered without gaps being promised; domain.OrderID writes the number.
create sequence order_sequence as bigint minvalue 0 start 0 maxvalue 1099511627775;

create table idempotency_keys (
    user_id text not null,
    key text not null,
    request_id uuid not null,
    body_hash bytea not null,
    created_at timestamptz not null default clock_timestamp(),
    primary key (user_id, key)
);
create index idempotency_keys_created_at on idempotency_keys (created_at);

-- Keys that the service signs with when it is not given one.
create table secrets (
    name text primary key,
    value bytea not null
);
