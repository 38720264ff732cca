-- What happened in each second of a sale: for charts. It follows the log from its
-- checkpoint, some moments behind, and can be filled anew from any.

-- +goose Up

create table sale_activity (
    sale_id bigint not null,
    second timestamptz not null,
    requests bigint not null,
    confirmed bigint not null,
    rejected bigint not null,
    turned_away bigint not null,
    primary key (sale_id, second)
);
revoke all on sale_activity from public;
insert into checkpoints values ('activity', 0);
