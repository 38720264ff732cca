package load

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReport_WritePlot(t *testing.T) {
	t.Parallel()
	report := &Report{Load: "closed loop, 3 buyers <here>", Seconds: 3, Timeline: []Second{
		{Second: 0, Accepted: 100, Told: 90, AcceptP50: 1, AcceptP99: 3, ToldP50: 2, ToldP99: 9},
		{Second: 1, Accepted: 120, Told: 125, Errors: 2, AcceptP50: 1, AcceptP99: 4, ToldP50: 2, ToldP99: 12},
		{Second: 2, Accepted: 110, Told: 111, AcceptP50: 1, AcceptP99: 3, ToldP50: 2, ToldP99: 8},
		{Second: 3, Accepted: 1},
	}}

	t.Run("HTML", func(t *testing.T) {
		t.Parallel()
		name := filepath.Join(t.TempDir(), "plot.html")
		if err := report.WritePlot(name); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		page := string(data)
		for _, want := range []string{"<svg", "<polyline", "purchases per second", "3 buyers &lt;here&gt;"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %q", want)
			}
		}
		for _, stranger := range []string{"<script", "src=", "href="} {
			if strings.Contains(page, stranger) {
				t.Errorf("the page has %q: it must need nothing else", stranger)
			}
		}
	})

	t.Run("PNG", func(t *testing.T) {
		t.Parallel()
		name := filepath.Join(t.TempDir(), "plot.png")
		if err := report.WritePlot(name); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		decoded, err := png.Decode(file)
		if err != nil {
			t.Fatal(err)
		}
		pixels := decoded.(*image.RGBA).Pix
		for _, c := range []color.RGBA{blue, green, orange, red} {
			if !bytes.Contains(pixels, []byte{c.R, c.G, c.B, c.A}) {
				t.Errorf("no line of color %v", c)
			}
		}
	})

	t.Run("NothingHappened", func(t *testing.T) {
		t.Parallel()
		if err := (&Report{}).WritePlot(filepath.Join(t.TempDir(), "plot.html")); err != nil {
			t.Error(err)
		}
		drawing, err := newRaster(plotWidth, plotHeight)
		if err != nil {
			t.Fatal(err)
		}
		(&Report{}).draw(drawing)
	})

	t.Run("AnotherEnding", func(t *testing.T) {
		t.Parallel()
		name := filepath.Join(t.TempDir(), "plot.jpeg")
		if err := report.WritePlot(name); err == nil {
			t.Error("WritePlot succeeded")
		}
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("a file was made: %v", err)
		}
	})
}
