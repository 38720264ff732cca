-- The event store: append-only, ordered by (transaction_id, position).

-- +goose Up

-- What is added to the cluster's transaction IDs, so that the order of events
-- survives a dump and restore into a cluster whose IDs start low.
create table transaction_id_offset (
    singleton boolean primary key default true check (singleton),
    value bigint not null default 0 check (value >= 0)
);
insert into transaction_id_offset default values;

-- The ID of this transaction in the order of events. It assigns an xid: call it
-- only after every lock has been taken, or the order of IDs is not the order of locks.
create function current_transaction_id() returns bigint
language sql volatile
return (select pg_current_xact_id()::text::bigint + value from transaction_id_offset);

-- Every event below this ID is visible or will never be: who follows the whole
-- log reads only below it.
create function transaction_id_horizon() returns bigint
language sql stable
return (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint + value from transaction_id_offset);

create table events (
    stream_id uuid not null,
    version integer not null check (version > 0),
    transaction_id bigint not null,
    position bigint not null generated always as identity,
    sale_id bigint not null,
    type text not null,
    data jsonb not null,
    metadata jsonb not null default '{}',
    recorded_at timestamptz not null default clock_timestamp(),
    primary key (stream_id, version)
);
create index events_transaction_id_position on events (transaction_id, position);
create index events_sale_id_transaction_id on events (sale_id, transaction_id);

-- +goose StatementBegin
create function forbid_event_change() returns trigger
language plpgsql as $$
begin
    raise exception 'events are never changed: % is not allowed', lower(tg_op)
        using errcode = 'object_not_in_prerequisite_state';
end
$$;
-- +goose StatementEnd
create trigger events_are_append_only
    before update or delete or truncate on events
    for each statement execute function forbid_event_change();

-- How far a reader of the whole log has come: everything up to and including
-- transaction_id has been dealt with.
create table checkpoints (
    name text primary key,
    transaction_id bigint not null
);
insert into checkpoints values ('inbox', 0);
