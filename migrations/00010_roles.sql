-- The role of the service, which reads and writes but neither makes nor changes the
-- schema. What it may do is in grants/service.sql.

-- +goose Up

-- It makes and drops partitions, which only the owner can. What it does is fixed, but
-- for the retention, and so is where it looks.
-- +goose StatementBegin
do $$
begin
    execute format('alter function keep_purchase_results(interval) security definer set search_path = %I, pg_temp', current_schema());
end
$$;
-- +goose StatementEnd

-- The role belongs to the whole cluster, whose databases may be migrated at the same time.
-- +goose StatementBegin
do $$
begin
    for attempt in 1..100 loop
        begin
            if to_regrole('seckill_service') is null then
                create role seckill_service nologin;
            end if;
            exit;
        exception
            when insufficient_privilege then
                raise warning 'cannot create the role seckill_service: %', sqlerrm
                    using hint = 'docs/security.md says what an administrator has to run.';
                exit;
            when duplicate_object or unique_violation then -- another database is at it
                if attempt = 100 then
                    raise;
                end if;
                perform pg_sleep(0.02 * random());
        end;
    end loop;
end
$$;
-- +goose StatementEnd
