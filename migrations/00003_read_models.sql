-- Read models: folds of the events, each row with the stream version it shows.
-- Any of them can be dropped and rebuilt while sales go on.

-- +goose Up

-- What became of a request. Rows are kept for a while only, in partitions by the
-- time in the request ID (UUIDv7) that are made ahead and dropped whole; the
-- default partition takes what a wrong clock or a late decision brings.
create table purchase_results (
    request_id uuid not null,
    version integer not null,
    sale_id bigint not null,
    user_id text not null,
    quantity bigint not null,
    status text not null,
    reason text,
    order_id text,
    existing_request_id uuid,
    existing_order_id text,
    pay_by timestamptz,
    accepted_at timestamptz not null,
    decided_at timestamptz not null,
    primary key (request_id)
) partition by range (request_id);
create table purchase_results_default partition of purchase_results default;

create table orders (
    order_id text primary key,
    version integer not null,
    request_id uuid not null unique,
    sale_id bigint not null,
    user_id text not null,
    quantity bigint not null,
    amount bigint not null,
    currency text not null,
    status text not null,
    pay_by timestamptz not null,
    created_at timestamptz not null,
    paid_at timestamptz,
    ended_at timestamptz
);
