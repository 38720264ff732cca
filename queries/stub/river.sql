-- The columns of River's table that our queries use. River makes the table; a
-- test compares this stub with it.
create type river_job_state as enum (
    'available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled'
);

create table river_job (
    id bigint primary key,
    state river_job_state not null,
    attempt smallint not null,
    attempted_at timestamptz,
    attempted_by text[],
    finalized_at timestamptz,
    scheduled_at timestamptz not null,
    args jsonb not null,
    kind text not null,
    queue text not null,
    metadata jsonb not null,
    errors jsonb[]
);
