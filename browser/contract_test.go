package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// testContract uses a client that was written to the /seckill contract, in
// testdata, behind a server of its own. It is told the same in every language.
func (s *shop) testContract(t *testing.T) {
	t.Parallel()
	site := s.serveContractClient(t)
	now := time.Now()

	for language, browser := range map[string]*chromium{"zh-CN": s.chinese, "en-US": s.english} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			client := contractClient{browser.open(t)}

			for _, test := range []struct {
				name  string
				plan  sale
				other string // who buys first
				want  string // what the client is told; an order where it is empty
			}{
				{name: "Won", plan: sale{Stock: 1}},
				{name: "SoldOut", plan: sale{Stock: 1}, other: "43", want: "手慢了，商品已抢完"},
				{name: "BoughtBefore", plan: sale{Stock: 2}, other: "42", want: "您已抢购过该商品，超出限购数量"},
				{name: "Closed", plan: sale{OpensAt: now.Add(-2 * time.Hour), ClosesAt: now.Add(-time.Hour), Stock: 1}, want: "活动已结束"},
				{name: "NotOpen", plan: sale{OpensAt: now.Add(time.Hour), ClosesAt: now.Add(2 * time.Hour), Stock: 1}, want: "活动尚未开始"},
			} {
				t.Run(test.name, func(t *testing.T) {
					on := s.schedule(t, test.plan)
					if test.other != "" {
						s.win(t, on.SaleID, test.other)
					}
					got := client.press(t, fmt.Sprintf("%s?userId=42&goodsId=%d", site, on.GoodsID))
					kept := s.result(t, got.RequestID)
					if test.want == "" {
						test.want = kept.OrderID
					}
					if got.Words != test.want || got.State != kept.Status {
						t.Errorf("the client shows %+v, want %q; the service has %+v", got, test.want, kept)
					}
				})
			}

			t.Run("UnknownGoods", func(t *testing.T) {
				if got := client.press(t, site+"?userId=42&goodsId=999999"); got.State != "again" || got.RequestID != "" {
					t.Errorf("the client shows %+v, want it to ask to try again", got)
				}
			})
		})
	}
}

// serveContractClient serves the client, and the service's /seckill to it. It
// returns the client's URL.
func (s *shop) serveContractClient(t *testing.T) string {
	t.Helper()
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	mux := http.NewServeMux()
	mux.Handle("/seckill/", &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: transport,
	})
	mux.Handle("/", http.FileServer(http.Dir("testdata/contract")))
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	return server.URL + "/"
}

// contractClient is the client in a tab.
type contractClient struct{ *tab }

// contractResult is what the client shows.
type contractResult struct {
	RequestID string `json:"requestId"`
	State     string `json:"state"`
	Words     string `json:"words"`
}

// press opens the client, presses its button and waits until it shows what came
// of it.
func (c contractClient) press(t *testing.T, url string) contractResult {
	t.Helper()
	do(t, c.tab, chromedp.Steps(chromedp.Navigate(url), chromedp.Click(chromedp.CSS("button"))))
	return until[contractResult](t, c.tab, `() => {
		const { requestId = '', state = 'processing' } = document.body.dataset;
		return state !== 'processing' && { requestId, state, words: document.querySelector('p').textContent };
	}`)
}
