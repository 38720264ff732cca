-- Payments and refunds in each second too, and in the row of the second '-infinity'
-- the sum of all seconds: a sale's figures so far by one look.
--
-- The checkpoint gets another name, so that a node of an earlier version, which adds
-- up no sums, adds nothing any more. All is filled anew.

-- +goose Up

truncate sale_activity;
alter table sale_activity
    add column paid bigint not null default 0,
    add column refunded bigint not null default 0;
delete from checkpoints where name = 'activity';
insert into checkpoints values ('sale_activity', 0);
