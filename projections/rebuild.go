package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
	"seckill/queries"
)

// Model is a read model that can be rebuilt.
type Model string

// The read models.
const (
	ModelOrders   Model = "orders"
	ModelResults  Model = "results"
	ModelActivity Model = "activity"
)

// Models are all of them.
var Models = []Model{ModelOrders, ModelResults, ModelActivity}

// ErrRebuilding is returned while another rebuild runs on the same database.
var ErrRebuilding = errors.New("another rebuild is running on this database")

const (
	rebuildLockClass = 0x2EB1
	// rebuildPatience is how long a rebuild waits for another to end: the server may
	// take a moment to notice that one was killed.
	rebuildPatience = 3 * time.Second
	// rebuildBatch is how many rows are compared at a time.
	rebuildBatch = 1000
	// repairBatch is how many purchases may be locked at a time.
	repairBatch = 200
	// repairPause is the time between two tries for the locks of purchases, and
	// repairPatience for how long they are tried while none is to be had.
	repairPause    = 20 * time.Millisecond
	repairPatience = 30 * time.Second
)

// Rebuilt says how far the rebuild of a model is.
type Rebuilt struct {
	Model   Model
	Checked int64 // rows that should be there, compared so far; of the activity known at the end
	Written int64 // rows that were missing or different; of the activity also what was not added up yet
	Deleted int64 // rows that no event accounts for
	Took    time.Duration
	Done    bool
}

// Rebuild makes the read models what the events say, while any number of nodes go on
// to sell. It is given a connection of its own, which is not to be used afterwards,
// and tells its progress. It may be killed at any moment and run again. It returns
// ErrRebuilding if another rebuild runs and does not end soon.
//
// Rows are repaired where they are, without a shadow table that is swapped in. That
// leaves live nodes their table, its indexes, privileges and plans, locks nothing but
// the purchases whose rows are wrong, and has nothing to clean up after a kill. It is
// right because whoever appends to a stream writes its row in the same transaction:
//
//   - In any one snapshot a row and its stream fit together. So a row that differs
//     there is wrong, however its version reads, and one that fits stays right by
//     itself: the next append has the next version.
//   - A wrong row is overwritten under the lock of its purchase, by the stream as it
//     is read under that lock. Nobody appends to it meanwhile. Locks are only tried:
//     the rebuild waits for nobody while it holds one, so nobody waits behind it for long.
//   - What no event accounts for is deleted first. Only then it is asked where the log
//     ends, and all that is visible up to there is compared. A stream that was confirmed
//     while such a row was in its way is among them; one that is confirmed later finds none.
//
// The activity is a sum, which no version guards: see rebuild.activity.
func Rebuild(ctx context.Context, conn *pgx.Conn, models []Model, progress func(Rebuilt)) error {
	// A rebuild that is frozen must not keep locks, nor one that is gone.
	if _, err := conn.Exec(ctx, `set timezone = 'UTC'; set application_name = 'seckill rebuild'; set lock_timeout = '5s';
		set idle_in_transaction_session_timeout = '5s'; set client_connection_check_interval = '1s'`); err != nil {
		return fmt.Errorf("set up the connection: %w", err)
	}
	if err := holdRebuild(ctx, conn); err != nil {
		return err
	}
	defer func() { // a connection that is gone has let go
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = queries.New(conn).LetGoOfRebuild(ctx, rebuildLockClass)
	}()
	for _, model := range models {
		r := &rebuild{conn: conn, store: eventstore.New(), told: progress, begun: time.Now(), now: Rebuilt{Model: model}}
		var err error
		switch model {
		case ModelOrders:
			err = r.orders(ctx)
		case ModelResults:
			err = r.results(ctx)
		case ModelActivity:
			err = r.activity(ctx)
		default:
			err = errors.New("there is no such read model")
		}
		if err != nil {
			return fmt.Errorf("rebuild %s: %w", model, err)
		}
		r.now.Done = true
		r.tell()
	}
	return nil
}

func holdRebuild(ctx context.Context, conn *pgx.Conn) error {
	for begun := time.Now(); ; {
		held, err := queries.New(conn).HoldRebuild(ctx, rebuildLockClass)
		if err != nil {
			return fmt.Errorf("lock out other rebuilds: %w", err)
		}
		if held {
			return nil
		}
		if time.Since(begun) > rebuildPatience {
			return ErrRebuilding
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// rebuild is the rebuild of one model.
type rebuild struct {
	begun time.Time
	conn  *pgx.Conn
	now   Rebuilt
	store *eventstore.Store
	told  func(Rebuilt)
}

func (r *rebuild) tell() {
	r.now.Took = time.Since(r.begun)
	r.told(r.now)
}

// followLog passes on the purchases in the log, a batch at a time. It ends where the
// log ended when it began, however much is added meanwhile.
func (r *rebuild) followLog(ctx context.Context, next func(after eventstore.Cursor, upTo int64) ([]queries.ConfirmedPurchasesRow, error),
	repair func(ctx context.Context, ids []uuid.UUID) error,
) error {
	upTo, err := queries.New(r.conn).LastTransaction(ctx)
	if err != nil {
		return fmt.Errorf("find the end of the log: %w", err)
	}
	for after := (eventstore.Cursor{}); ; {
		batch, err := next(after, upTo)
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		if len(batch) == 0 {
			return nil
		}
		ids := make([]uuid.UUID, len(batch))
		for i, row := range batch {
			ids[i] = row.StreamID
			after = eventstore.Cursor{TransactionID: row.TransactionID, Position: row.Position}
		}
		if err := repair(ctx, ids); err != nil {
			return err
		}
		r.now.Checked += int64(len(ids))
		r.tell()
	}
}

func (r *rebuild) streams(ctx context.Context, db queries.DBTX, ids []uuid.UUID) ([]*eventstore.Stream, error) {
	events, err := r.store.ReadStreams(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	var streams []*eventstore.Stream
	for from, i := 0, 1; i <= len(events); i++ {
		if i == len(events) || events[i].StreamID != events[from].StreamID {
			streams = append(streams, eventstore.LoadedStream(events[from:i]))
			from = i
		}
	}
	return streams, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
