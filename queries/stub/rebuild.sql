-- The temporary table that a rebuild fills: it has the columns of sale_activity.
create table rebuilt_activity (like sale_activity);
