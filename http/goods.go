package http

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/singleflight"

	"seckill/projections"
	"seckill/purchasing"
)

const (
	// goodsFresh is how long it is remembered which sale a goods ID means.
	goodsFresh = 250 * time.Millisecond
	// goodsMemory is for how many goods it is remembered.
	goodsMemory = 10_000
	// goodsTimeout bounds one look.
	goodsTimeout = 2 * time.Second
)

// goodsCatalogue knows which sale a goods ID means, so that a submit by goods does
// not look it up in the database each time.
type goodsCatalogue struct {
	pool    *pgxpool.Pool
	looking singleflight.Group

	mu    sync.Mutex
	goods map[int64]currentSale
}

type currentSale struct {
	saleID int64
	asOf   time.Time
}

func newGoodsCatalogue(pool *pgxpool.Pool) *goodsCatalogue {
	return &goodsCatalogue{pool: pool, goods: make(map[int64]currentSale)}
}

// sale returns the sale that a goods ID means, or purchasing.ErrSaleNotFound.
func (c *goodsCatalogue) sale(ctx context.Context, goodsID int64) (int64, error) {
	now := time.Now()
	c.mu.Lock()
	known, ok := c.goods[goodsID]
	c.mu.Unlock()
	if ok && now.Sub(known.asOf) < goodsFresh {
		return known.saleID, nil
	}
	looked := c.looking.DoChan(strconv.FormatInt(goodsID, 10), func() (any, error) {
		// For whoever asks at the same time, so not in the context of the first.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodsTimeout)
		defer cancel()
		id, err := projections.SaleOfGoods(ctx, c.pool, goodsID)
		if err == nil {
			c.remember(goodsID, currentSale{saleID: id, asOf: now})
		}
		return id, err
	})
	select {
	case found := <-looked:
		if errors.Is(found.Err, projections.ErrNotFound) {
			return 0, purchasing.ErrSaleNotFound
		}
		id, _ := found.Val.(int64)
		return id, found.Err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (c *goodsCatalogue) remember(goodsID int64, current currentSale) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.goods) >= goodsMemory {
		clear(c.goods)
	}
	c.goods[goodsID] = current
}

// forget makes the next submit look again: there is a new sale of the goods.
func (c *goodsCatalogue) forget(goodsID int64) {
	c.looking.Forget(strconv.FormatInt(goodsID, 10))
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.goods, goodsID)
}
