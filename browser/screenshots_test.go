package browser_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var screenshots = flag.Bool("screenshots", false, "write the README's pictures to docs/images")

// TestScreenshots takes the README's pictures: of the demo sale, after a purchase.
func TestScreenshots(t *testing.T) {
	if !*screenshots {
		t.Skip("without -screenshots")
	}
	needChromium(t)
	s := startService(t)

	const sold = 113
	for i := range sold {
		s.win(t, s.demo.SaleID, fmt.Sprintf("buyer %d", i))
	}

	for _, picture := range []struct {
		file          string
		language      string
		buyer         string
		scheme        string
		width, height int64
		options       []chromedp.EmulateViewportOption
	}{
		{file: "page.png", language: "zh-CN", buyer: "小满", scheme: "light", width: 1280, height: 800},
		{
			file: "page-phone.png", language: "en-US", buyer: "Robin", scheme: "dark", width: 390, height: 844,
			options: []chromedp.EmulateViewportOption{chromedp.EmulateMobile, chromedp.EmulateTouch},
		},
	} {
		p := s.visit(t, startChromium(t, picture.language), "/")
		command(t, p.tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: picture.scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"}, // nothing is in between
		}})
		do(t, p.tab, chromedp.Steps(
			chromedp.EmulateViewport(picture.width, picture.height, picture.options...),
			chromedp.SetValue(chromedp.CSS("#buyer"), picture.buyer),
		))
		before := p.await(t, "idle").Stock
		p.press(t)
		p.awaitWin(t, s, s.demo.SaleID)
		until[bool](t, p.tab, "(before) => document.getElementById('stock').parentElement.textContent !== before", before)
		image := do(t, p.tab, chromedp.CaptureScreenshot())
		if err := os.WriteFile(filepath.Join("../docs/images", picture.file), image, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestScreenshots_Operator takes the picture of the operator's page, in the second
// minute of a rush.
func TestScreenshots_Operator(t *testing.T) {
	if !*screenshots {
		t.Skip("without -screenshots")
	}
	needChromium(t)
	s := startService(t)
	for _, plan := range []map[string]any{
		{"name": "Winter concert, stalls", "stock": 500, "price": 38_000, "opensAt": time.Now().Add(24 * time.Hour), "closesAt": time.Now().Add(25 * time.Hour)},
		{"name": "Studio headphones", "stock": 80, "price": 89_900, "closesAt": time.Now().Add(time.Hour)},
		{"name": "Lantern festival, late entry", "stock": 1200, "price": 6_800, "closesAt": time.Now().Add(3 * time.Hour)},
	} {
		s.call(t, http.MethodPost, "/sales", plan, &struct{}{})
	}
	s.call(t, http.MethodPost, fmt.Sprintf("/sales/%d/close", s.demo.SaleID+2), nil, &struct{}{})

	p := s.operate(t, startChromium(t, "en-US"), s.demo.SaleID)
	do(t, p.tab, chromedp.EmulateViewport(1280, 930))
	var crowd sync.WaitGroup
	for tick := range 700 { // of a tenth of a second: it swells, and ebbs away
		coming := rand.Float64() * 4 * math.Exp(-math.Pow(float64(tick-250)/160, 2))
		for i := range int(coming + rand.Float64()) {
			crowd.Go(func() { s.tryToBuy(t, s.demo.SaleID, fmt.Sprintf("buyer %d-%d", tick, i)) })
		}
		time.Sleep(100 * time.Millisecond)
	}
	crowd.Wait()
	time.Sleep(2 * time.Second) // what is shown is a second behind
	image := do(t, p.tab, chromedp.CaptureScreenshot())
	if err := os.WriteFile("../docs/images/operator.png", image, 0o644); err != nil {
		t.Fatal(err)
	}
}

// tryToBuy buys one unit and pays for it, if it can.
func (s *service) tryToBuy(t *testing.T, saleID int64, user string) {
	t.Helper()
	post := func(path, body string) (answer struct{ RequestID, OrderID string }) {
		response, err := http.Post(s.url+path, "application/json", strings.NewReader(body))
		if err != nil {
			return answer
		}
		defer response.Body.Close()
		_ = json.NewDecoder(response.Body).Decode(&answer) // whoever is refused has nothing
		return answer
	}
	accepted := post(fmt.Sprintf("/sales/%d/purchases", saleID), fmt.Sprintf(`{"userId":%q}`, user))
	if accepted.RequestID == "" {
		return
	}
	if result := s.result(t, accepted.RequestID); result.OrderID != "" && rand.IntN(3) > 0 {
		post("/orders/"+result.OrderID+"/pay", fmt.Sprintf(`{"paymentReference":%q}`, user))
	}
}
