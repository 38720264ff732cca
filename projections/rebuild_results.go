package projections

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
	"seckill/queries"
)

// results needs no locks: an outcome never changes, so what is right once is right.
func (r *rebuild) results(ctx context.Context) error {
	if err := r.correctResults(ctx); err != nil {
		return fmt.Errorf("correct what is stored: %w", err)
	}
	q := queries.New(r.conn)
	return r.followLog(ctx, func(after eventstore.Cursor, upTo int64) ([]queries.ConfirmedPurchasesRow, error) {
		rows, err := q.RecentlyDecidedPurchases(ctx, queries.RecentlyDecidedPurchasesParams{
			AfterTransactionID: after.TransactionID, AfterPosition: after.Position, UpTo: upTo,
			Retention: interval(ResultsRetention), MaxPurchases: rebuildBatch,
		})
		batch := make([]queries.ConfirmedPurchasesRow, len(rows))
		for i, row := range rows {
			batch[i] = queries.ConfirmedPurchasesRow(row)
		}
		return batch, err
	}, r.addMissingResults)
}

// correctResults goes through the rows that are stored, also those that are older
// than the retention and not dropped yet.
func (r *rebuild) correctResults(ctx context.Context) error {
	q := queries.New(r.conn)
	page := []uuid.UUID{uuid.Nil} // what no page shows, as it comes after nothing
	for len(page) > 0 {
		deleted, err := q.DeleteExtraPurchaseResults(ctx, page)
		if err != nil {
			return err
		}
		r.now.Deleted += deleted
		streams, err := r.streams(ctx, r.conn, page)
		if err != nil {
			return err
		}
		rows := resultRows(streams)
		corrected, err := q.CorrectPurchaseResults(ctx, queries.CorrectPurchaseResultsParams{
			RequestIds:         rows.RequestIds,
			Versions:           rows.Versions,
			SaleIds:            rows.SaleIds,
			UserIds:            rows.UserIds,
			Quantities:         rows.Quantities,
			Statuses:           rows.Statuses,
			Reasons:            rows.Reasons,
			OrderIds:           rows.OrderIds,
			ExistingRequestIds: rows.ExistingRequestIds,
			ExistingOrderIds:   rows.ExistingOrderIds,
			PayBys:             rows.PayBys,
			AcceptedAts:        rows.AcceptedAts,
			DecidedAts:         rows.DecidedAts,
		})
		if err != nil {
			return err
		}
		r.now.Written += corrected
		r.tell()
		page, err = q.PageOfPurchaseResults(ctx, queries.PageOfPurchaseResultsParams{After: page[len(page)-1], MaxResults: rebuildBatch})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *rebuild) addMissingResults(ctx context.Context, ids []uuid.UUID) error {
	missing, err := queries.New(r.conn).MissingPurchaseResults(ctx, ids)
	if err != nil {
		return fmt.Errorf("compare results: %w", err)
	}
	if len(missing) == 0 {
		return nil
	}
	err = pgx.BeginFunc(ctx, r.conn, func(tx pgx.Tx) error {
		streams, err := r.streams(ctx, tx, missing)
		if err != nil {
			return err
		}
		var writes queries.Pipeline
		if err := (Results{Retention: ResultsRetention}).Project(ctx, &writes, streams); err != nil {
			return err
		}
		return writes.Send(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("add results: %w", err)
	}
	r.now.Written += int64(len(missing))
	return nil
}
