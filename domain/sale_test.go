package domain_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/domain"
)

// plan is a sale that may be scheduled.
func plan() domain.SaleScheduled {
	return domain.SaleScheduled{
		GoodsID:        2002,
		Name:           "Aurora X1 phone",
		Price:          199_900,
		Currency:       "CNY",
		Stock:          300,
		PerUserLimit:   2,
		OpensAt:        opensAt,
		ClosesAt:       closesAt,
		PaymentTimeout: domain.Duration(15 * time.Minute),
	}
}

func TestScheduleSale(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*domain.SaleScheduled){
		"AsPlanned":              func(*domain.SaleScheduled) {},
		"FirstGoods":             func(p *domain.SaleScheduled) { p.GoodsID = 1 },
		"NoName":                 func(p *domain.SaleScheduled) { p.Name = "" },
		"LongestName":            func(p *domain.SaleScheduled) { p.Name = strings.Repeat("秒", domain.MaxNameLength) },
		"Free":                   func(p *domain.SaleScheduled) { p.Price = 0 },
		"LargestPrice":           func(p *domain.SaleScheduled) { p.Price = domain.MaxPrice },
		"OneUnit":                func(p *domain.SaleScheduled) { p.Stock = 1 },
		"LargestStock":           func(p *domain.SaleScheduled) { p.Stock = domain.MaxStock },
		"LargestLimit":           func(p *domain.SaleScheduled) { p.PerUserLimit = domain.MaxPerUserLimit },
		"From1970":               func(p *domain.SaleScheduled) { p.OpensAt = time.Unix(0, 0) },
		"Until9999":              func(p *domain.SaleScheduled) { p.ClosesAt = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC) },
		"ShortestWindow":         func(p *domain.SaleScheduled) { p.ClosesAt = p.OpensAt.Add(time.Microsecond) },
		"ShortestPaymentTimeout": func(p *domain.SaleScheduled) { p.PaymentTimeout = domain.Duration(time.Second) },
		"LongestPaymentTimeout":  func(p *domain.SaleScheduled) { p.PaymentTimeout = domain.Duration(domain.MaxPaymentTimeout) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			planned := plan()
			change(&planned)
			scheduled, err := domain.ScheduleSale(planned)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(planned, scheduled); diff != "" {
				t.Errorf("the plan was changed (-planned +scheduled):\n%s", diff)
			}
		})
	}
}

func TestScheduleSale_Refused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		field  string
		change func(*domain.SaleScheduled)
	}{
		"NoGoods":         {"goodsId", func(p *domain.SaleScheduled) { p.GoodsID = 0 }},
		"NegativeGoods":   {"goodsId", func(p *domain.SaleScheduled) { p.GoodsID = -1 }},
		"NameTooLong":     {"name", func(p *domain.SaleScheduled) { p.Name = strings.Repeat("秒", domain.MaxNameLength+1) }},
		"NameWithControl": {"name", func(p *domain.SaleScheduled) { p.Name = "a\x00b" }},
		"NameNotUTF8":     {"name", func(p *domain.SaleScheduled) { p.Name = "a\xff" }},
		"OpensBefore1970": {"opensAt", func(p *domain.SaleScheduled) { p.OpensAt = time.Unix(-1, 0) }},
		"ClosesAfter9999": {"closesAt", func(p *domain.SaleScheduled) {
			p.ClosesAt = time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -60*60))
		}},
		"PriceNegative":        {"price", func(p *domain.SaleScheduled) { p.Price = -1 }},
		"PriceTooHigh":         {"price", func(p *domain.SaleScheduled) { p.Price = domain.MaxPrice + 1 }},
		"NoCurrency":           {"currency", func(p *domain.SaleScheduled) { p.Currency = "" }},
		"CurrencyInLowerCase":  {"currency", func(p *domain.SaleScheduled) { p.Currency = "cny" }},
		"CurrencyTooShort":     {"currency", func(p *domain.SaleScheduled) { p.Currency = "CN" }},
		"CurrencyTooLong":      {"currency", func(p *domain.SaleScheduled) { p.Currency = "CNYY" }},
		"CurrencyOfThreeBytes": {"currency", func(p *domain.SaleScheduled) { p.Currency = "元" }},
		"NoStock":              {"stock", func(p *domain.SaleScheduled) { p.Stock = 0 }},
		"StockNegative":        {"stock", func(p *domain.SaleScheduled) { p.Stock = -1 }},
		"StockTooLarge":        {"stock", func(p *domain.SaleScheduled) { p.Stock = domain.MaxStock + 1 }},
		"NoLimit":              {"perUserLimit", func(p *domain.SaleScheduled) { p.PerUserLimit = 0 }},
		"LimitTooLarge":        {"perUserLimit", func(p *domain.SaleScheduled) { p.PerUserLimit = domain.MaxPerUserLimit + 1 }},
		"ClosesAsItOpens":      {"closesAt", func(p *domain.SaleScheduled) { p.ClosesAt = p.OpensAt }},
		"ClosesBeforeItOpens":  {"closesAt", func(p *domain.SaleScheduled) { p.ClosesAt = p.OpensAt.Add(-time.Microsecond) }},
		"NeverCloses":          {"closesAt", func(p *domain.SaleScheduled) { p.ClosesAt = time.Time{} }},
		"NoPaymentTimeout":     {"paymentTimeout", func(p *domain.SaleScheduled) { p.PaymentTimeout = 0 }},
		"PaymentTimeoutTooShort": {"paymentTimeout", func(p *domain.SaleScheduled) {
			p.PaymentTimeout = domain.Duration(time.Second - 1)
		}},
		"PaymentTimeoutTooLong": {"paymentTimeout", func(p *domain.SaleScheduled) {
			p.PaymentTimeout = domain.Duration(domain.MaxPaymentTimeout + 1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			planned := plan()
			test.change(&planned)
			_, err := domain.ScheduleSale(planned)
			invalid, ok := errors.AsType[*domain.InvalidError](err)
			if !ok {
				t.Fatalf("got %v, want an InvalidError", err)
			}
			if invalid.Field != test.field {
				t.Errorf("got %q, want it to name %s", invalid, test.field)
			}
		})
	}
}

func TestNewSale(t *testing.T) {
	t.Parallel()
	want := saleOf(300, 2)
	if diff := cmp.Diff(want, domain.NewSale(1001, plan())); diff != "" {
		t.Errorf("the sale (-want +got):\n%s", diff)
	}
}

// The first status that fits is the sale's, at every boundary of the window and
// of the stock.
func TestSale_Status(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		now       time.Time
		available int64
		want      domain.SaleStatus
	}{
		"BeforeItOpens":            {opensAt.Add(-time.Microsecond), 1, domain.SaleStatusScheduled},
		"BeforeItOpensWithoutUnit": {opensAt.Add(-time.Microsecond), 0, domain.SaleStatusScheduled},
		"AsItOpens":                {opensAt, 1, domain.SaleStatusOpen},
		"LastUnitIsFree":           {during, 1, domain.SaleStatusOpen},
		"NoneIsFree":               {during, 0, domain.SaleStatusSoldOut},
		"LastMoment":               {closesAt.Add(-time.Microsecond), 1, domain.SaleStatusOpen},
		"AsItCloses":               {closesAt, 1, domain.SaleStatusClosed},
		"ClosedWithoutUnit":        {closesAt, 0, domain.SaleStatusClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := saleOf(test.available, 1).Status(test.now); got != test.want {
				t.Errorf("at %s with %d units: got %s, want %s", test.now, test.available, got, test.want)
			}
		})
	}
}
