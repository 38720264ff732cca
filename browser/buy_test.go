package browser_test

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// words are what the page says in one language.
type words struct {
	language string // its name

	buy, more, bought        string // on the button
	open, scheduled, soldOut string // of the sale
	stock                    string // a pattern
	won, lost                string
	limitExceeded, tooLate   string
}

var (
	chineseWords = words{
		language: "zh-CN",
		buy:      "立即抢购", more: "再抢一件", bought: "已抢到",
		open: "抢购中", scheduled: "即将开抢", soldOut: "已抢完",
		stock: `^剩余 \d+ 件 / 共 300 件$`,
		won:   "抢到了！", lost: "没有抢到",
		limitExceeded: "您已抢购过该商品，超出限购数量", tooLate: "手慢了，商品已抢完",
	}
	englishWords = words{
		language: "en",
		buy:      "Buy now", more: "Buy another", bought: "Bought",
		open: "On sale now", scheduled: "Soon", soldOut: "Sold out",
		stock: `^\d+ of 300 left$`,
		won:   "It’s yours!", lost: "Not this time",
		limitExceeded: "You already have as many as one buyer may have.", tooLate: "Too late: everything is sold.",
	}
)

// testBuy presses the button of the page in both languages.
func (s *shop) testBuy(t *testing.T) {
	t.Parallel()

	for _, speech := range []struct {
		browser *chromium
		words
	}{
		{s.chinese, chineseWords},
		{s.english, englishWords},
	} {
		c, say := speech.browser, speech.words
		t.Run(say.language, func(t *testing.T) {
			t.Parallel()

			t.Run("Wins", func(t *testing.T) {
				t.Parallel()
				p := s.visit(t, c, "/")

				before := p.await(t, "idle")
				if before.Language != say.language || before.Button != say.buy || before.State != say.open || before.Disabled {
					t.Errorf("the page shows %+v, want it to offer the sale in %s", before, say.language)
				}
				if !regexp.MustCompile(say.stock).MatchString(before.Stock) {
					t.Errorf("the page shows the stock as %q, want it to be like %s", before.Stock, say.stock)
				}
				requireCountdown(t, p, s.demo.ClosesAt)

				p.press(t)
				got := p.awaitWin(t, s.service, s.demo.SaleID)
				if got.Title != say.won || got.Button != say.bought || !got.Disabled || !got.went("processing", "succeeded") {
					t.Errorf("the page shows %+v, want a win after a while, and no offer of more", got)
				}

				do(t, p.tab, chromedp.Reload())
				if again := p.await(t, "succeeded"); again.Button != say.bought || !again.Disabled {
					t.Errorf("reloaded, the page shows %+v, want no offer of more", again)
				}
			})

			t.Run("AnotherBuyer", func(t *testing.T) {
				t.Parallel()
				p := s.visitSale(t, c, s.schedule(t, sale{Stock: 10}).SaleID)
				name := p.buyer(t)
				p.press(t)
				p.await(t, "succeeded")

				p.rename(t, "another "+name)
				if fresh := p.awaitButton(t, say.buy); fresh.Disabled || fresh.OrderID != "" {
					t.Errorf("the page shows another buyer %+v, want an offer", fresh)
				}
				p.rename(t, name)
				if got := p.awaitButton(t, say.bought); !got.Disabled {
					t.Errorf("the page shows the buyer who has one %+v, want no offer of more", got)
				}
			})

			t.Run("UpToTheLimit", func(t *testing.T) {
				t.Parallel()
				on := s.schedule(t, sale{PerUserLimit: 2, Stock: 10})
				p := s.visitSale(t, c, on.SaleID)
				p.press(t)
				first := p.awaitWin(t, s.service, on.SaleID)
				if first.Button != say.more || first.Disabled {
					t.Errorf("after one of two the page shows %+v, want it to offer another", first)
				}
				p.clickAt(t, time.Now().Add(time.Second)) // sooner it would be half of a double click
				second := p.awaitButton(t, say.bought)
				if !second.Disabled || second.OrderID == first.OrderID || second.OrderID == "" {
					t.Errorf("after two of two the page shows %+v, want a second order and no offer of more", second)
				}
			})

			t.Run("BoughtElsewhere", func(t *testing.T) {
				t.Parallel()
				on := s.schedule(t, sale{Stock: 10})
				p := s.visitSale(t, c, on.SaleID)
				bought := s.result(t, s.accept(t, on.SaleID, p.buyer(t)).RequestID)

				p.press(t)
				got := p.await(t, "failed")
				if got.Title != say.lost || got.Detail != say.limitExceeded || got.ExistingOrderID != bought.OrderID || got.OrderID != "" {
					t.Errorf("the page shows %+v, want the second purchase to fail because of order %s", got, bought.OrderID)
				}
				if got.Button != say.bought || !got.Disabled {
					t.Errorf("the page shows %+v, want no offer of more", got)
				}
			})

			t.Run("SoldOut", func(t *testing.T) {
				t.Parallel()
				last := s.schedule(t, sale{Stock: 1})
				p := s.visitSale(t, c, last.SaleID)
				release := s.hold(t, last.SaleID)
				other := s.accept(t, last.SaleID, "other")

				p.press(t) // while the page still shows one unit
				p.await(t, "processing")
				release()
				got := p.await(t, "failed")
				if got.Title != say.lost || got.Detail != say.tooLate || got.OrderID != "" {
					t.Errorf("the page shows %+v, want the purchase to come too late", got)
				}
				if other = s.result(t, other.RequestID); other.Status != "succeeded" {
					t.Errorf("the other buyer, who was first, got %+v", other)
				}

				p.awaitPhase(t, say.soldOut)
				if got := p.await(t, "failed"); !got.Disabled || got.Button != say.soldOut {
					t.Errorf("the page shows %+v, want the button to be off", got)
				}
			})

			t.Run("Scheduled", func(t *testing.T) {
				t.Parallel()
				opens := time.Now().Add(30 * time.Hour)
				p := s.visitSale(t, c, s.schedule(t, sale{ClosesAt: opens.Add(time.Hour), OpensAt: opens, Stock: 1}).SaleID)

				if got := p.await(t, "idle"); got.State != say.scheduled || !got.Disabled {
					t.Errorf("the page shows %+v, want the button to be off until the sale opens", got)
				}
				requireCountdown(t, p, opens)
			})

			t.Run("OpensByItself", func(t *testing.T) {
				t.Parallel()
				coming := s.schedule(t, sale{OpensAt: time.Now().Add(3 * time.Second), Stock: 1})
				p := s.visitSale(t, c, coming.SaleID)

				// In the page, because a press from here would come later.
				until[bool](t, p.tab, `() => {
					const buy = document.getElementById('buy');
					return !buy.disabled && (buy.click(), true);
				}`)
				p.awaitWin(t, s.service, coming.SaleID)
			})
		})
	}
}

// requireCountdown fails the test unless the page counts down to a moment.
func requireCountdown(t *testing.T, p buyersPage, end time.Time) {
	t.Helper()
	const slack = 3 * time.Second // it is drawn ten times a second, and rounded up
	most := time.Until(end) + slack
	first := p.await(t, "idle").Countdown
	least := time.Until(end) - slack
	left := parseCountdown(t, first)
	if left < max(least, 0) || left > most {
		t.Errorf("the page counts down from %s, want it to be between %s and %s", first, least, most)
	}
	until[bool](t, p.tab, "(first) => document.getElementById('countdown').textContent !== first", first)
	if next := parseCountdown(t, p.await(t, "idle").Countdown); next >= left {
		t.Errorf("the page counts from %s to %s", left, next)
	}
}

var countdown = regexp.MustCompile(`^(?:(\d+) (?:天|d))?(\d\d):(\d\d):(\d\d)$`)

func parseCountdown(t *testing.T, text string) time.Duration {
	t.Helper()
	parts := countdown.FindStringSubmatch(text)
	if parts == nil {
		t.Fatalf("the countdown is %q", text)
	}
	var left time.Duration
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		count, _ := strconv.Atoi(parts[i+1]) // no days are none
		left += time.Duration(count) * unit
	}
	return left
}
