package browser_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// operatorsPage is the operator's page in a tab.
type operatorsPage struct{ *tab }

// operate opens the operator's page at a sale, or at the form for "new".
func (s *service) operate(t *testing.T, c *chromium, at any) operatorsPage {
	t.Helper()
	p := operatorsPage{c.open(t)}
	do(t, p.tab, chromedp.Navigate(fmt.Sprintf("%s/operator/#%v", s.url, at)))
	return p
}

// awaitText waits until an element that can be seen has this text.
func (p operatorsPage) awaitText(t *testing.T, selector, text string) {
	t.Helper()
	until[bool](t, p.tab, `(selector, text) => {
		const element = document.querySelector(selector);
		return element?.checkVisibility() && element.textContent === text;
	}`, selector, text)
}

// awaitIdle waits until no command is under way: another would be ignored.
func (p operatorsPage) awaitIdle(t *testing.T) {
	t.Helper()
	until[bool](t, p.tab, `() => [...document.querySelectorAll('form, #state-commands')].every(({ ariaBusy }) => ariaBusy !== 'true')`)
}

// fill types into the fields of a form, by their names.
func (p operatorsPage) fill(t *testing.T, form string, fields map[string]string) {
	t.Helper()
	values, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	until[bool](t, p.tab, `(form, values) => {
		const { elements } = document.querySelector(form);
		for (const [name, value] of Object.entries(JSON.parse(values))) elements[name].value = value;
		return true;
	}`, form, string(values))
}

// awaitInvalid waits until these fields of the form for a new sale, and no others,
// are marked as wrong, each with words that describe it.
func (p operatorsPage) awaitInvalid(t *testing.T, names ...string) {
	t.Helper()
	until[bool](t, p.tab, `(names) => {
		const described = [...document.querySelectorAll('#schedule [aria-describedby^="wrong-"], #schedule [aria-describedby*=" wrong-"]')];
		const words = (field) => document.getElementById('wrong-' + field.name).textContent;
		const marked = (field) => field.ariaInvalid === 'true' && words(field) !== '';
		const whole = (field) => field.ariaInvalid === null && words(field) === '';
		return described.length === 9 && described.every((field) => names.split(',').includes(field.name) ? marked(field) : whole(field)) &&
			document.getElementById('schedule-failure').textContent !== '';
	}`, strings.Join(names, ","))
}

// goTo leads the page to another sale, or to the form for "new".
func (p operatorsPage) goTo(t *testing.T, at any) {
	t.Helper()
	do(t, p.tab, chromedp.Evaluate[chromedp.Void](fmt.Sprintf("location.hash = '%v'", at)))
}

// requireNoWiderThan fails the test if the page must be scrolled sideways.
func (p operatorsPage) requireNoWiderThan(t *testing.T, pixels int) {
	t.Helper()
	if width := do(t, p.tab, chromedp.Evaluate[int]("document.documentElement.scrollWidth")); width > pixels {
		t.Errorf("the page is %d pixels wide, want at most %d", width, pixels)
	}
}

// scheduled reads the sale that the page shows from the service.
func (p operatorsPage) scheduled(t *testing.T, s *service) map[string]any {
	t.Helper()
	id := until[string](t, p.tab, `() => /^#\d+$/.test(location.hash) && location.hash.slice(1)`)
	var read map[string]any
	s.call(t, http.MethodGet, "/sales/"+id, nil, &read)
	return read
}

// testOperator uses the operator's page.
func (s *shop) testOperator(t *testing.T) {
	t.Parallel()
	localTime := func(at time.Time) string { return at.Format("2006-01-02T15:04:05") }
	tomorrow := time.Now().Add(24 * time.Hour).Truncate(time.Second)

	t.Run("Schedules", func(t *testing.T) {
		t.Parallel()
		p := s.operate(t, s.english, "new")
		p.fill(t, "#schedule", map[string]string{"name": "Concert", "price": "19.999", "stock": "50", "opensAt": localTime(tomorrow), "closesAt": localTime(tomorrow.Add(time.Hour))})
		p.click(t, "#submit")
		p.awaitInvalid(t, "price")
		p.fill(t, "#schedule", map[string]string{"price": "", "stock": "some", "closesAt": "", "paymentTimeout": "0"})
		p.click(t, "#submit")
		p.awaitInvalid(t, "closesAt", "paymentTimeout", "price", "stock")
		p.fill(t, "#schedule", map[string]string{"price": "19.99", "stock": "50", "closesAt": localTime(tomorrow.Add(-time.Hour)), "paymentTimeout": "15"})
		p.click(t, "#submit")
		p.awaitInvalid(t, "closesAt") // which the service said
		p.awaitText(t, "#wrong-closesAt", "Fill in a time that is to come, after the sale opens.")

		p.fill(t, "#schedule", map[string]string{"closesAt": localTime(tomorrow.Add(time.Hour))})
		do(t, p.tab, chromedp.Evaluate[chromedp.Void]("for (const _ of [1, 2]) document.getElementById('submit').click()"))
		got := p.scheduled(t, s.service)
		if got["name"] != "Concert" || got["price"] != 1999.0 || got["currency"] != "CNY" || got["stock"] != 50.0 || got["perUserLimit"] != 1.0 ||
			got["paymentTimeout"] != "15m" || got["opensAt"] != tomorrow.UTC().Format(time.RFC3339) {
			t.Errorf("scheduled %v", got)
		}
		p.awaitText(t, "#name", "Concert")
		p.awaitText(t, "#price", "CN¥19.99")
		if posts := p.count("POST", func(url string) bool { return strings.HasSuffix(url, "/sales") }); posts != 2 {
			t.Errorf("the page has posted %d times, want once to be refused and once to schedule", posts)
		}

		p.goTo(t, "new")
		until[bool](t, p.tab, `() => {
			const { currency, name, price, stock } = document.getElementById('schedule').elements;
			return name.checkVisibility() && currency.value === 'CNY' && name.value + price.value + stock.value === '';
		}`)
	})

	t.Run("SchedulesInACurrencyWithoutDigits", func(t *testing.T) {
		t.Parallel()
		p := s.operate(t, s.english, "new")
		p.fill(t, "#schedule", map[string]string{"name": "Tickets", "price": "500.5", "currency": "jpy", "stock": "5"})
		p.click(t, "#submit")
		p.awaitInvalid(t, "price")
		p.fill(t, "#schedule", map[string]string{"price": "500"})
		p.click(t, "#submit")
		if got := p.scheduled(t, s.service); got["price"] != 500.0 || got["currency"] != "JPY" {
			t.Errorf("scheduled %v", got)
		}
		p.awaitText(t, "#price", "¥500")
		p.requireClean(t, s.url)
	})

	t.Run("OperatesWhatIsOn", func(t *testing.T) {
		t.Parallel()
		on := s.schedule(t, sale{Stock: 20})
		p := s.operate(t, s.english, on.SaleID)
		p.awaitText(t, "#available", "20")
		for i := range 3 {
			s.win(t, on.SaleID, fmt.Sprint("buyer ", i))
		}
		p.awaitText(t, "#available", "17")
		p.awaitText(t, "#confirmed", "3")
		p.awaitText(t, "#pending", "0")
		until[bool](t, p.tab, `() => document.getElementById('chart-words').textContent.includes('3 requests, 3 confirmations, 0 refusals')`)

		p.fill(t, "#window-form", map[string]string{"closesAt": "2099-11-11T20:00:01"})
		p.click(t, "#pause")
		p.awaitText(t, "#state", "Paused")
		p.awaitIdle(t)
		p.click(t, "#resume")
		p.awaitText(t, "#state", "On sale")
		if typed := do(t, p.tab, chromedp.Evaluate[string]("document.getElementById('move-closes').value")); typed != "2099-11-11T20:00:01" {
			t.Errorf("other commands left %q of the closing time that was typed", typed)
		}
		p.fill(t, "#stock-form", map[string]string{"delta": "5"})
		p.click(t, "#stock-form [value='1']")
		p.awaitText(t, "#of-stock", "of 25 units free")
		p.awaitIdle(t)
		p.fill(t, "#stock-form", map[string]string{"delta": "23"})
		p.click(t, "#stock-form [value='-1']")
		p.awaitText(t, "#stock-failure", "Fewer units are free than are to be removed.")

		do(t, p.tab, chromedp.Reload())
		p.awaitText(t, "#available", "22")
		for _, answer := range []string{"no", "yes"} {
			p.awaitIdle(t)
			p.click(t, "#close")
			until[bool](t, p.tab, `() => document.getElementById('sure').open`)
			p.click(t, "#sure [value='"+answer+"']")
		}
		p.awaitText(t, "#state", "Closed")
		p.awaitText(t, "#over", "The sale is over; nothing can be changed.")
		if closed := s.events(t, on.SaleID)["SaleClosed"]; closed != 1 {
			t.Errorf("the sale was closed %d times", closed)
		}
	})

	t.Run("ClosesNoOtherSaleThanItAskedAbout", func(t *testing.T) {
		t.Parallel()
		first, second := s.schedule(t, sale{Stock: 1}), s.schedule(t, sale{Stock: 2})
		p := s.operate(t, s.english, first.SaleID)
		p.awaitText(t, "#of-stock", "of 1 units free")
		p.click(t, "#close")
		p.goTo(t, second.SaleID)
		p.awaitText(t, "#of-stock", "of 2 units free")
		until[bool](t, p.tab, `() => !document.getElementById('sure').open`)
		p.awaitIdle(t)
		for _, on := range []sale{first, second} {
			if closed := s.events(t, on.SaleID)["SaleClosed"]; closed != 0 {
				t.Errorf("sale %d was closed, and nobody had said yes", on.SaleID)
			}
		}
		p.requireClean(t, s.url)
	})

	t.Run("OpensASaleAsSoonAsItCanBeRead", func(t *testing.T) {
		t.Parallel()
		on := s.schedule(t, sale{Stock: 3})
		p := s.operate(t, s.english, "new")
		read := fmt.Sprintf("/sales/%d", on.SaleID)
		p.block(t, "*://*:*"+read)
		p.goTo(t, on.SaleID)
		until[bool](t, p.tab, "(path) => performance.getEntriesByType('resource').filter(({ name }) => name.endsWith(path)).length > 1", read)
		p.block(t)
		p.awaitText(t, "#of-stock", "of 3 units free")
	})

	t.Run("AsksToLookBeforeStockIsAddedTwice", func(t *testing.T) {
		t.Parallel()
		on := s.schedule(t, sale{Stock: 4})
		p := s.operate(t, s.english, on.SaleID)
		p.awaitText(t, "#of-stock", "of 4 units free")
		p.block(t, "*://*:*/sales/*/stock")
		p.fill(t, "#stock-form", map[string]string{"delta": "2"})
		p.click(t, "#stock-form [value='1']")
		p.awaitText(t, "#stock-failure", "No answer came. It may have been done all the same: look before you repeat it.")
		p.block(t)
		p.click(t, "#stock-form [value='1']") // what was typed is still there
		p.awaitText(t, "#of-stock", "of 6 units free")
		p.awaitIdle(t)
		p.fill(t, "#stock-form", map[string]string{"delta": "2,5"})
		p.click(t, "#stock-form [value='1']")
		p.awaitText(t, "#stock-failure", "Fill in a whole number above 0. A stock has at most 2,000,000,000 units.")
	})

	t.Run("Reschedules", func(t *testing.T) {
		t.Parallel()
		soon := s.schedule(t, sale{Stock: 5, OpensAt: tomorrow, ClosesAt: tomorrow.Add(time.Hour)})
		p := s.operate(t, s.english, soon.SaleID)
		p.awaitText(t, "#state", "Scheduled")
		p.fill(t, "#window-form", map[string]string{"opensAt": localTime(tomorrow.Add(-time.Hour))})
		p.click(t, "#window-form button")
		until[bool](t, p.tab, "(was) => document.getElementById('move-opens').dataset.was === was", localTime(tomorrow.Add(-time.Hour)))
		var moved sale
		s.call(t, http.MethodGet, fmt.Sprintf("/sales/%d", soon.SaleID), nil, &moved)
		if !moved.OpensAt.Equal(tomorrow.Add(-time.Hour)) || !moved.ClosesAt.Equal(tomorrow.Add(time.Hour)) {
			t.Errorf("it is from %s to %s", moved.OpensAt, moved.ClosesAt)
		}
		p.requireClean(t, s.url)
	})

	t.Run("MovesTheEndOfWhatHasOpened", func(t *testing.T) {
		t.Parallel()
		minute := time.Now().Truncate(time.Minute) // a field leaves seconds of 00 out
		on := s.schedule(t, sale{Stock: 5, OpensAt: tomorrow, ClosesAt: tomorrow.Add(time.Hour)})
		path := fmt.Sprintf("/sales/%d", on.SaleID)
		s.call(t, http.MethodPost, path+"/pause", nil, &struct{}{}) // or the buyers' page would show it, as it opened before the demo sale
		s.call(t, http.MethodPatch, path, map[string]any{"opensAt": minute.Add(-time.Minute), "closesAt": minute.Add(time.Hour)}, &struct{}{})
		p := s.operate(t, s.english, on.SaleID)
		p.awaitText(t, "#state", "Paused")
		p.click(t, "#window-form button") // nothing is to be moved
		p.fill(t, "#window-form", map[string]string{"closesAt": localTime(minute.Add(2 * time.Hour))})
		p.click(t, "#window-form button")
		until[bool](t, p.tab, "(was) => document.getElementById('move-closes').dataset.was === was", localTime(minute.Add(2*time.Hour)))
		if events := s.events(t, on.SaleID); events["SaleRescheduled"] != 2 {
			t.Errorf("the sale has the events %v, want it to be rescheduled once more", events)
		}
		p.requireClean(t, s.url)
	})

	t.Run("FindsSales", func(t *testing.T) {
		t.Parallel()
		closed := s.schedule(t, sale{Stock: 5})
		s.call(t, http.MethodPost, fmt.Sprintf("/sales/%d/close", closed.SaleID), nil, &struct{}{})
		p := s.operate(t, s.chinese, "")
		p.awaitText(t, "#list-title", "场次")
		until[bool](t, p.tab, `() => /^#\d+$/.test(location.hash)`) // the newest
		until[bool](t, p.tab, `(id) => {
			const filter = document.getElementById('filter');
			if (filter.value !== 'closed') {
				filter.value = 'closed';
				filter.dispatchEvent(new Event('change'));
			}
			const badges = [...document.querySelectorAll('#sales .badge')];
			return badges.length > 0 && badges.every(({ textContent }) => textContent === '已结束') &&
				document.querySelector('#sales [data-sale="' + id + '"]') !== null;
		}`, fmt.Sprint(closed.SaleID))
		p.click(t, fmt.Sprintf("#sales [data-sale='%d'] a", closed.SaleID))
		p.awaitText(t, "#state", "已结束")
		until[bool](t, p.tab, `(id) => {
			const current = [...document.querySelectorAll('#sales [aria-current="true"]')];
			return current.length === 1 && current[0].getAttribute('href') === '#' + id;
		}`, fmt.Sprint(closed.SaleID))
		p.requireClean(t, s.url)
	})

	t.Run("FitsAPhone", func(t *testing.T) {
		t.Parallel()
		p := s.operate(t, s.english, s.demo.SaleID)
		do(t, p.tab, chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile, chromedp.EmulateTouch))
		p.awaitText(t, "#name", s.demo.Name)
		p.requireNoWiderThan(t, 360)
		p.goTo(t, "new")
		p.awaitText(t, "#submit", "Schedule")
		p.click(t, "#submit") // which adds words about what is missing
		p.awaitInvalid(t, "price", "stock")
		p.requireNoWiderThan(t, 360)
	})

	t.Run("ListsAllSalesPageByPage", func(t *testing.T) {
		t.Parallel()
		var ids []string
		schedule := func() {
			plan := sale{Stock: 1, OpensAt: tomorrow, ClosesAt: tomorrow.Add(time.Hour)}
			ids = append(ids, fmt.Sprint(s.schedule(t, plan).SaleID))
		}
		for range 30 {
			schedule()
		}
		p := s.operate(t, s.english, "new")
		listed := func() {
			until[bool](t, p.tab, `(ids) => {
				const listed = [...document.querySelectorAll('#sales li')].map(({ dataset }) => dataset.sale);
				if (!document.getElementById('more').hidden && window.pressedAt !== listed.length) {
					window.pressedAt = listed.length;
					document.getElementById('more').click();
				}
				return ids.split(',').every((id) => listed.includes(id));
			}`, strings.Join(ids, ","))
		}
		listed()
		schedule() // on the first page: what was its last is on the second now
		listed()
		p.requireClean(t, s.url)
	})

	t.Run("KnowsNoSuchSale", func(t *testing.T) {
		t.Parallel()
		p := s.operate(t, s.english, "987654321")
		p.awaitText(t, "#missing p", "There is no such sale.")
	})
}
