package projections

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"seckill/queries"
)

var errNotInFront = errors.New("temporary tables do not come first in the search_path")

// activity adds up the whole log in a temporary table, and then, under the lock of the
// checkpoint, what has happened since; makes the live table equal to it, and sets the
// checkpoint to where the sum ends. Whoever adds next carries on from there, so each
// event counts once. The charts are behind while the lock is held: for as long as one
// batch takes or two. The sales do not notice.
//
// The temporary table is named as the live one and hides it from this connection
// alone. So the very statement that adds live also rebuilds, and nothing is left of a
// rebuild that is killed.
func (r *rebuild) activity(ctx context.Context) error {
	if _, err := r.conn.Exec(ctx, "create temporary table sale_activity (like sale_activity including all)"); err != nil {
		return fmt.Errorf("make a table to add up in: %w", err)
	}
	defer func() { // the connection goes soon; so does the table
		_, _ = r.conn.Exec(context.WithoutCancel(ctx), "drop table if exists pg_temp.sale_activity")
	}()
	var hidden bool
	if err := r.conn.QueryRow(ctx, "select 'sale_activity'::regclass = 'pg_temp.sale_activity'::regclass").Scan(&hidden); err != nil {
		return err
	}
	if !hidden {
		return errNotInFront
	}
	end, err := queries.New(r.conn).TransactionHorizon(ctx)
	if err != nil {
		return err
	}
	var after int64
	for more := true; more && after < end-1; { // what comes later is left to replaceActivity
		err := pgx.BeginFunc(ctx, r.conn, func(tx pgx.Tx) (err error) {
			after, more, err = r.addActivity(ctx, tx, after)
			return err
		})
		if err != nil {
			return fmt.Errorf("add up: %w", err)
		}
		r.tell()
	}
	if err := r.replaceActivity(ctx, after); err != nil {
		return fmt.Errorf("put in place: %w", err)
	}
	return nil
}

// addActivity adds the next batch, and returns where it ends and whether there is more.
func (r *rebuild) addActivity(ctx context.Context, tx pgx.Tx, after int64) (upTo int64, more bool, err error) {
	q := queries.New(tx)
	upTo, err = q.EndOfActivityBatch(ctx, queries.EndOfActivityBatchParams{After: after, Skipped: activityBatch})
	if err != nil || upTo == after {
		return upTo, false, err
	}
	if err := q.AddActivity(ctx, queries.AddActivityParams{After: after, UpTo: upTo}); err != nil {
		return after, false, err
	}
	return upTo, true, nil
}

func (r *rebuild) replaceActivity(ctx context.Context, after int64) error {
	if err := queries.New(r.conn).MakeCheckpoint(ctx, activityCheckpoint); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, r.conn, func(tx pgx.Tx) error {
		q := queries.New(tx)
		if err := q.WaitForCheckpoint(ctx, activityCheckpoint); err != nil {
			return err
		}
		for more := true; more; {
			var err error
			if after, more, err = r.addActivity(ctx, tx, after); err != nil {
				return err
			}
		}
		// From here on the live table has its name to itself again.
		if _, err := tx.Exec(ctx, "alter table pg_temp.sale_activity rename to rebuilt_activity"); err != nil {
			return err
		}
		checked, err := q.CountRebuiltActivity(ctx)
		if err != nil {
			return err
		}
		deleted, err := q.DeleteExtraActivity(ctx)
		if err != nil {
			return err
		}
		written, err := q.OverwriteActivity(ctx)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "drop table rebuilt_activity"); err != nil {
			return err
		}
		r.now.Checked, r.now.Deleted, r.now.Written = checked, deleted, written
		return q.UpdateCheckpoint(ctx, queries.UpdateCheckpointParams{Name: activityCheckpoint, TransactionID: after})
	})
}
