package browser_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

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
