package load

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
)

// CheckPlotName returns an error unless WritePlot can draw into a file of that
// name. No name is fine.
func CheckPlotName(name string) error {
	if ending := filepath.Ext(name); name != "" && ending != ".html" && ending != ".png" {
		return fmt.Errorf("plot %q: want a name that ends in .html or .png", name)
	}
	return nil
}

// WritePlot draws throughput and latency over time into a file: a page that needs
// nothing else, or a PNG, by the ending of its name.
func (r *Report) WritePlot(name string) error {
	if err := CheckPlotName(name); err != nil {
		return err
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	write := r.writePage
	if filepath.Ext(name) == ".png" {
		write = r.writePNG
	}
	if err := write(file); err != nil {
		_ = file.Close() // the first error is the one to tell
		return err
	}
	return file.Close()
}

var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{.Load}}</title>
<style>
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2rem auto; padding: 0 1rem }
svg { width: 100%; height: auto }
pre { overflow-x: auto }
</style>
<h1>{{.Load}}</h1>
{{.Charts}}
<pre>{{.Text}}</pre>
</html>
`))

func (r *Report) writePage(w io.Writer) error {
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		return err
	}
	drawing := newSVG(plotWidth, plotHeight)
	r.draw(drawing)
	return page.Execute(w, map[string]any{
		"Load":   r.Load,
		"Charts": template.HTML(drawing.finish()), // made here, of numbers and fixed names
		"Text":   text.String(),
	})
}

func (r *Report) writePNG(w io.Writer) error {
	drawing, err := newRaster(plotWidth, plotHeight)
	if err != nil {
		return err
	}
	r.draw(drawing)
	return drawing.encode(w)
}
