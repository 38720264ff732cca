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
    request_id uuid not null,
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

-- The smallest UUIDv7 of a moment.
create function uuid_at(moment timestamptz) returns uuid
language sql immutable
return (lpad(to_hex((extract(epoch from moment) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid;

-- Makes the partitions of purchase_results for the next minutes, and drops those
-- whose requests are all older than the retention. A partition is made beside the
-- table and attached, which does not stop inserts; a lock that is not to be had at
-- once is left for the next call, so that a long report never stops deciding.
-- +goose StatementBegin
create function keep_purchase_results(retention interval) returns void
language plpgsql as $$
declare
    period constant interval := interval '10 minutes';
    current_start constant timestamptz := date_bin(period, clock_timestamp(), 'epoch');
    lower timestamptz;
    partition text;
begin
    if not pg_try_advisory_xact_lock(hashtext('keep_purchase_results')) then
        return; -- another node is at it
    end if;
    set local lock_timeout = '100ms';

    for lower in select generate_series(current_start, current_start + 2 * period, period) loop
        partition := 'purchase_results_' || to_char(lower at time zone 'UTC', 'YYYYMMDDHH24MI');
        if to_regclass(partition) is null then
            begin
                execute format('create table %I (like purchase_results including all)', partition);
                execute format('alter table purchase_results attach partition %I for values from (%L) to (%L)',
                    partition, uuid_at(lower), uuid_at(lower + period));
            exception when check_violation or lock_not_available then
                raise notice 'partition % is not made now: %', partition, sqlerrm; -- the default partition serves
            end;
        end if;
    end loop;

    for partition in
        select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'purchase_results'::regclass
            and c.relname ~ '^purchase_results_\d{12}$'
            and (to_timestamp(right(c.relname, 12), 'YYYYMMDDHH24MI')::timestamp at time zone 'UTC')
                + period < clock_timestamp() - retention
    loop
        begin
            execute format('drop table %I', partition);
        exception when lock_not_available then
            raise notice 'partition % is dropped later: %', partition, sqlerrm;
        end;
    end loop;

    delete from purchase_results_default where decided_at < clock_timestamp() - retention;
end
$$;
-- +goose StatementEnd
