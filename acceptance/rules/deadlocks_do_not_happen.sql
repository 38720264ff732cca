-- There is one order of locks.
select datname, deadlocks
from pg_stat_database
where datname = current_database()
    and deadlocks > 0
