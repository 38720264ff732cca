package load

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
)

// svg is a canvas for a page. Texts take the page's color, light or dark.
type svg struct{ out bytes.Buffer }

func newSVG(width, height int) *svg {
	s := &svg{}
	fmt.Fprintf(&s.out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" `+
		`font-family="system-ui, sans-serif" font-size="12" fill="currentColor">`+"\n", width, height)
	return s
}

func (s *svg) line(points []point, width float64, c color.RGBA) {
	fmt.Fprintf(&s.out, `<polyline fill="none" stroke="#%02x%02x%02x" stroke-width="%g" points="`, c.R, c.G, c.B, width)
	for _, p := range points {
		fmt.Fprintf(&s.out, "%.1f,%.1f ", p.x, p.y)
	}
	s.out.WriteString("\"/>\n")
}

func (s *svg) text(at point, a anchor, words string) {
	names := [...]string{anchorStart: "start", anchorMiddle: "middle", anchorEnd: "end"}
	fmt.Fprintf(&s.out, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n",
		at.x, at.y, names[a], html.EscapeString(words))
}

func (s *svg) finish() string {
	s.out.WriteString("</svg>")
	return s.out.String()
}
