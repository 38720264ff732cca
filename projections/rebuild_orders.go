package projections

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
	"seckill/queries"
)

func (r *rebuild) orders(ctx context.Context) error {
	if err := r.deleteExtraOrders(ctx); err != nil {
		return fmt.Errorf("delete what no event accounts for: %w", err)
	}
	q := queries.New(r.conn)
	return r.followLog(ctx, func(after eventstore.Cursor, upTo int64) ([]queries.ConfirmedPurchasesRow, error) {
		return q.ConfirmedPurchases(ctx, queries.ConfirmedPurchasesParams{
			AfterTransactionID: after.TransactionID, AfterPosition: after.Position, UpTo: upTo, MaxPurchases: rebuildBatch,
		})
	}, r.repairOrders)
}

func (r *rebuild) deleteExtraOrders(ctx context.Context) error {
	q := queries.New(r.conn)
	page := []string{""} // what no page shows, as it comes after nothing
	for len(page) > 0 {
		deleted, err := q.DeleteExtraOrders(ctx, page)
		if err != nil {
			return err
		}
		r.now.Deleted += deleted
		r.tell()
		page, err = q.PageOfOrders(ctx, queries.PageOfOrdersParams{After: page[len(page)-1], MaxOrders: rebuildBatch})
		if err != nil {
			return err
		}
	}
	return nil
}

// repairOrders looks for wrong rows without a lock, and repairs those.
func (r *rebuild) repairOrders(ctx context.Context, ids []uuid.UUID) error {
	var wrong []uuid.UUID
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, r.conn, snapshot, func(tx pgx.Tx) error {
		streams, err := r.streams(ctx, tx, ids)
		if err != nil {
			return err
		}
		wrong, err = queries.New(tx).WrongOrders(ctx, queries.WrongOrdersParams(orderRows(streams)))
		return err
	})
	if err != nil {
		return fmt.Errorf("compare orders: %w", err)
	}
	for progressed := time.Now(); len(wrong) > 0; {
		repaired, err := r.overwriteOrders(ctx, wrong[:min(len(wrong), repairBatch)])
		if err != nil {
			return fmt.Errorf("repair orders: %w", err)
		}
		wrong = slices.DeleteFunc(wrong, func(id uuid.UUID) bool { return slices.Contains(repaired, id) })
		if len(repaired) > 0 {
			progressed = time.Now()
			continue
		}
		if time.Since(progressed) > repairPatience {
			return fmt.Errorf("somebody keeps the locks of %d purchases, the first of them %s", len(wrong), wrong[0])
		}
		if err := sleep(ctx, repairPause); err != nil {
			return err
		}
		wrong = append(wrong[min(len(wrong), repairBatch):], wrong[:min(len(wrong), repairBatch)]...)
	}
	return nil
}

// overwriteOrders writes the orders of those of the purchases whose locks are free.
func (r *rebuild) overwriteOrders(ctx context.Context, ids []uuid.UUID) (repaired []uuid.UUID, err error) {
	err = pgx.BeginFunc(ctx, r.conn, func(tx pgx.Tx) error {
		q := queries.New(tx)
		repaired, err = q.LockPurchases(ctx, queries.LockPurchasesParams{RequestIds: ids, LockClass: eventstore.PurchaseLockClass})
		if err != nil || len(repaired) == 0 {
			return err
		}
		streams, err := r.streams(ctx, tx, repaired) // in a statement after the locks
		if err != nil {
			return err
		}
		written, err := q.OverwriteOrders(ctx, queries.OverwriteOrdersParams(orderRows(streams)))
		r.now.Written += written
		return err
	})
	return repaired, err
}
