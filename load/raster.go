package load

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// rasterScale is how many pixels of the image make one of the plot, each way.
const rasterScale = 2

// raster is a canvas for a PNG.
type raster struct {
	image *image.RGBA
	face  font.Face
}

func newRaster(width, height int) (*raster, error) {
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return nil, err
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: 12 * rasterScale, DPI: 72, Hinting: font.HintingFull})
	if err != nil {
		return nil, err
	}
	r := &raster{image: image.NewRGBA(image.Rect(0, 0, width*rasterScale, height*rasterScale)), face: face}
	draw.Draw(r.image, r.image.Bounds(), image.White, image.Point{}, draw.Src)
	return r, nil
}

// line fills one rectangle for each stretch of the line.
func (r *raster) line(points []point, width float64, c color.RGBA) {
	for i := 1; i < len(points); i++ {
		r.stretch(points[i-1], points[i], width, c)
	}
}

func (r *raster) stretch(from, to point, width float64, c color.RGBA) {
	length := math.Hypot(to.x-from.x, to.y-from.y)
	if length == 0 {
		return
	}
	acrossX := (from.y - to.y) / length * width / 2
	acrossY := (to.x - from.x) / length * width / 2

	// Only the part of the image that the stretch may touch is worth looking at.
	part := image.Rect(int(scaled(from.x)), int(scaled(from.y)), int(scaled(to.x)), int(scaled(to.y)))
	part = part.Inset(-int(scaled(width)) - 1).Intersect(r.image.Bounds())
	corner := func(x, y float64) (float32, float32) {
		return scaled(x) - float32(part.Min.X), scaled(y) - float32(part.Min.Y)
	}
	shape := vector.NewRasterizer(part.Dx(), part.Dy())
	shape.MoveTo(corner(from.x+acrossX, from.y+acrossY))
	shape.LineTo(corner(to.x+acrossX, to.y+acrossY))
	shape.LineTo(corner(to.x-acrossX, to.y-acrossY))
	shape.LineTo(corner(from.x-acrossX, from.y-acrossY))
	shape.ClosePath()
	shape.Draw(r.image, part, image.NewUniform(c), image.Point{})
}

func (r *raster) text(at point, a anchor, words string) {
	writer := font.Drawer{Dst: r.image, Src: image.Black, Face: r.face}
	start := fixed.Int26_6(scaled(at.x) * 64)
	switch a {
	case anchorMiddle:
		start -= writer.MeasureString(words) / 2
	case anchorEnd:
		start -= writer.MeasureString(words)
	}
	writer.Dot = fixed.Point26_6{X: start, Y: fixed.Int26_6(scaled(at.y) * 64)}
	writer.DrawString(words)
}

func (r *raster) encode(w io.Writer) error { return png.Encode(w, r.image) }

func scaled(v float64) float32 { return float32(v * rasterScale) }
