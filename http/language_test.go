package http_test

import (
	"testing"

	"github.com/google/uuid"

	"seckill/domain"
)

// Every answer about a purchase speaks the buyer's language: Chinese or English,
// and English to all others.
func TestServer_AcceptLanguage(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 10, 1)
	soldOut := n.buy(t, sale, by("42")).RequestID
	n.decide(t, uuid.MustParse(soldOut), domain.PurchaseRejected{Reason: domain.ReasonSoldOut})
	for header, want := range map[string]string{
		"zh-CN":                        "手慢了，商品已抢完",
		"zh":                           "手慢了，商品已抢完",
		"zh-Hans-CN":                   "手慢了，商品已抢完",
		"fr;q=0.9, zh-CN;q=0.8, en":    "Too late: everything is sold.",
		"fr, zh-CN;q=0.8, en;q=0.5":    "手慢了，商品已抢完",
		"en-GB":                        "Too late: everything is sold.",
		"fr":                           "Too late: everything is sold.",
		"*":                            "Too late: everything is sold.",
		"nonsense;;q=?":                "Too late: everything is sold.",
		"":                             "Too late: everything is sold.",
		"en;q=0.1, zh-CN;q=0.9, *;q=0": "手慢了，商品已抢完",
	} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			if got := n.result(t, soldOut, "Accept-Language: "+header).Message; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// Each state has words of its own in each language.
func TestServer_Messages(t *testing.T) {
	t.Parallel()
	n := startIdleNode(t)
	sale := n.sale(t, 10, 1)
	outcomes := map[string]domain.Event{
		"Processing":    nil,
		"Succeeded":     domain.PurchaseConfirmed{OrderID: domain.OrderID(1), Quantity: 1, Currency: "CNY"},
		"SoldOut":       domain.PurchaseRejected{Reason: domain.ReasonSoldOut},
		"LimitExceeded": domain.PurchaseRejected{Reason: domain.ReasonLimitExceeded},
		"SaleNotOpen":   domain.PurchaseRejected{Reason: domain.ReasonSaleNotOpen},
		"SaleClosed":    domain.PurchaseRejected{Reason: domain.ReasonSaleClosed},
		"SalePaused":    domain.PurchaseRejected{Reason: domain.ReasonSalePaused},
		"Internal":      domain.PurchaseRejected{Reason: domain.ReasonInternal},
	}
	said := make(map[string]string)
	for name, outcome := range outcomes {
		id := n.buy(t, sale, by("42")).RequestID
		if outcome != nil {
			n.decide(t, uuid.MustParse(id), outcome)
			n.result(t, id)
		}
		for _, language := range []string{"zh-CN", "en"} {
			message := n.get(t, "/purchases/"+id, "Accept-Language: "+language).purchase(t, 200).Message
			if other, ok := said[message]; ok || message == "" {
				t.Errorf("%s in %s says %q, as %s does", name, language, message, other)
			}
			said[message] = name + " in " + language
		}
	}
}
