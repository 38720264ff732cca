package load

import (
	"context"
	"sync"
	"time"
)

const (
	// settlers is how many requests are read at once after the load.
	settlers = 32
	// saleLength is how long a created sale lasts, and how long its orders wait
	// for payment: nothing may come back while the rules are checked.
	saleLength = 24 * time.Hour
)

// openAccounts reads the sales, or creates them, before anything is bought.
func (r *run) openAccounts(ctx context.Context) error {
	s := r.target.newSession()
	defer s.close()
	for _, id := range r.cfg.Sales {
		found, err := s.readSale(ctx, id)
		if err != nil {
			return err
		}
		r.accounts = append(r.accounts, &account{before: found})
	}
	if len(r.cfg.Sales) > 0 {
		return nil
	}
	for range r.cfg.NewSales {
		created, err := s.createSale(ctx, plan{
			Name:           "Load " + r.name,
			Price:          100,
			Currency:       "CNY",
			Stock:          r.cfg.Stock,
			PerUserLimit:   r.cfg.PerUserLimit,
			ClosesAt:       time.Now().Add(saleLength).UTC(),
			PaymentTimeout: saleLength.String(),
		})
		if err != nil {
			return err
		}
		r.accounts = append(r.accounts, &account{before: created})
	}
	return nil
}

// closeAccounts reads the sales again. One that cannot be read stays open, and
// its rules unchecked.
func (r *run) closeAccounts(ctx context.Context) {
	s := r.target.newSession()
	defer s.close()
	for _, a := range r.accounts {
		if found, err := s.readSale(ctx, a.before.SaleID); err == nil {
			a.after = found
		}
	}
}

// settle reads the results that no buyer stayed for, and reads some of the others
// again.
func (r *run) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Settle)
	defer cancel()
	again := r.ledger.sample(r.cfg.Sample)
	r.readEach(ctx, r.ledger.untold(), r.learn)
	r.readEach(ctx, again, r.ledger.reread)
}

// readEach long-polls each request until its result is there or ctx ends.
func (r *run) readEach(ctx context.Context, links map[string]string, then func(requestID string, p purchase)) {
	type request struct{ id, self string }
	requests := make(chan request)
	var readers sync.WaitGroup
	for range settlers {
		readers.Go(func() {
			s := r.target.newSession()
			defer s.close()
			for request := range requests {
				for ctx.Err() == nil {
					p, _, err := s.poll(ctx, request.self, longPollWait, retryPause)
					if err == nil {
						then(request.id, p)
						break
					}
					sleep(ctx, retryPause)
				}
			}
		})
	}
	for id, self := range links {
		requests <- request{id, self}
	}
	close(requests)
	readers.Wait()
}
