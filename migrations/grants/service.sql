-- What the service's role may do in this version, all of it: whatever is not granted
-- here is taken away. The owner's migrations run it as one transaction whenever they
-- have changed something, and where the role has no rights yet.

do $$
begin
    execute format('revoke all on all tables in schema %I from seckill_service', current_schema());
    execute format('revoke all on all sequences in schema %I from seckill_service', current_schema());
    execute format('grant usage on schema %I to seckill_service', current_schema());
end
$$;

-- Events are read and added, never changed: the privilege is missing, and the trigger
-- is not the role's to drop.
grant select, insert on events to seckill_service;
grant select on transaction_id_offset to seckill_service;

-- What guards decisions.
grant select, insert, update on sales, allowances to seckill_service;
grant select, insert, update, delete on idempotency_keys to seckill_service;
grant select, insert on secrets to seckill_service;
grant usage on sequence sale_ids, order_sequence to seckill_service;

-- Read models, which can be computed again. The partitions are reached through their table.
grant select, insert, update, delete on purchase_results, orders, sale_activity to seckill_service;
grant select, insert, update on checkpoints to seckill_service;

grant execute on function
    current_transaction_id(),
    keep_purchase_results(interval),
    sale_status(sales, timestamptz),
    transaction_id_horizon(),
    uuid_at(timestamptz)
to seckill_service;

-- The queue, whose tables are River's to name.
do $$
declare
    part record;
begin
    for part in
        select c.oid::regclass as name, c.relkind = 'S' as is_sequence from pg_class c
        where c.relnamespace = current_schema()::regnamespace
            and c.relkind in ('r', 'S')
            and c.relname ~ '^river_' and c.relname <> 'river_migration'
    loop
        if part.is_sequence then
            execute format('grant usage on sequence %s to seckill_service', part.name);
        else
            execute format('grant select, insert, update, delete on %s to seckill_service', part.name);
        end if;
    end loop;
end
$$;

-- Whether the schema is that of the program.
grant select on goose_db_version, river_migration to seckill_service;
