-- When all is decided, no job is left that decides.
select id, queue, state, attempt, attempted_by, args
from river_job
where kind = 'decide'
    and state <> 'completed'
