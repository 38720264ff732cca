package purchasing

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/queries"
)

// appendReleases appends the last event of each stream, which releases the units of
// an order of the locked sale, and gives the units back: to the sale, and to what the
// buyers may still have. The locks of the purchases are held as well.
func appendReleases(ctx context.Context, tx pgx.Tx, writes *queries.Pipeline, store *eventstore.Store,
	sale domain.Sale, streams []*eventstore.Stream,
) error {
	holdings, err := readHoldings(ctx, tx, sale.ID, streams)
	if err != nil {
		return err
	}
	for _, stream := range streams {
		event := stream.Events[stream.Version()-1].Data
		sale.Apply(event)
		held := holdings[buyerOf(stream.Events)]
		held.Apply(stream.ID, event)
		held.changed = true
	}
	if _, err := store.Append(ctx, tx, writes, streams...); err != nil {
		return err
	}
	if err := nameOrders(ctx, tx, store, sale.ID, holdings); err != nil {
		return err
	}
	q := queries.New(writes)
	if err := q.UpdateSaleAvailable(ctx, queries.UpdateSaleAvailableParams{SaleID: sale.ID, Available: sale.Available}); err != nil {
		return err
	}
	return q.UpsertAllowances(ctx, allowances(sale.ID, holdings))
}

// buyerOf is who made the purchase of a stream.
func buyerOf(events []eventstore.Event) string {
	requested, _ := events[0].Data.(domain.PurchaseRequested) // what cannot be read is never confirmed
	return requested.UserID
}

// readHoldings reads what the buyers of the streams hold of the locked sale.
func readHoldings(ctx context.Context, tx pgx.Tx, saleID int64, streams []*eventstore.Stream) (map[string]*holding, error) {
	holdings := make(map[string]*holding, len(streams))
	users := make([]string, 0, len(streams))
	for _, stream := range streams {
		user := buyerOf(stream.Events)
		if _, ok := holdings[user]; !ok {
			holdings[user] = &holding{}
			users = append(users, user)
		}
	}
	rows, err := queries.New(tx).GetAllowances(ctx, queries.GetAllowancesParams{SaleID: saleID, UserIds: users})
	if err != nil {
		return nil, fmt.Errorf("read allowances: %w", err)
	}
	for _, row := range rows {
		holdings[row.UserID].Holding = domain.Holding{
			Quantity: int(row.Quantity), RequestID: row.RequestID, OrderID: row.OrderID,
		}
	}
	return holdings, nil
}

// nameOrders names an order in the holdings of those who have released the one that
// was named and hold others: the one that was confirmed last. That is rare, so it
// may read whatever these buyers have won.
func nameOrders(ctx context.Context, tx pgx.Tx, store *eventstore.Store, saleID int64, holdings map[string]*holding) error {
	var users []string
	for user, held := range holdings {
		if held.Nameless() {
			users = append(users, user)
		}
	}
	if len(users) == 0 {
		return nil
	}
	won, err := queries.New(tx).GetConfirmedPurchases(ctx, queries.GetConfirmedPurchasesParams{SaleID: saleID, UserIds: users})
	if err != nil {
		return fmt.Errorf("read what buyers have won: %w", err)
	}
	streams, err := readStreams(ctx, tx, store, won)
	if err != nil {
		return err
	}
	for _, id := range won {
		name(holdings[buyerOf(streams[id])], id, streams[id])
	}
	return nil
}

// name names the order of a purchase in a holding, if its units are still held.
func name(held *holding, requestID uuid.UUID, events []eventstore.Event) {
	if _, order, ok := orderIn(events); ok && order.Held() {
		held.RequestID = requestID
		held.OrderID = order.ID
	}
}
