package load

import (
	"image/color"
	"math"
	"slices"
	"strconv"
)

// The plot is two charts, one above the other.
const (
	plotWidth   = 960
	plotHeight  = 640
	chartHeight = plotHeight / 2

	marginLeft   = 70
	marginRight  = 20
	marginTop    = 40
	marginBottom = 30
)

var (
	blue   = color.RGBA{0x3b, 0x82, 0xf6, 0xff}
	green  = color.RGBA{0x16, 0xa3, 0x4a, 0xff}
	orange = color.RGBA{0xf5, 0x9e, 0x0b, 0xff}
	red    = color.RGBA{0xef, 0x44, 0x44, 0xff}
	gray   = color.RGBA{0x88, 0x88, 0x88, 0xff}
)

// point is in pixels, from the upper left corner.
type point struct{ x, y float64 }

// anchor is which end of a text stands at its point.
type anchor int

const (
	anchorStart anchor = iota
	anchorMiddle
	anchorEnd
)

// canvas is what charts are drawn on.
type canvas interface {
	line(points []point, width float64, c color.RGBA)
	text(at point, a anchor, words string)
}

// chart shows series over the seconds of the measurement.
type chart struct {
	title  string
	series []series
}

type series struct {
	name   string
	color  color.RGBA
	values []float64
}

// draw draws the timeline. A last second that was cut short would look like a
// collapse, and is left out.
func (r *Report) draw(on canvas) {
	seconds := r.Timeline
	if whole := int(r.Seconds + 0.05); whole > 0 && whole < len(seconds) {
		seconds = seconds[:whole]
	}
	of := func(value func(Second) float64) []float64 {
		values := make([]float64, len(seconds))
		for i, s := range seconds {
			values[i] = value(s)
		}
		return values
	}
	throughput := chart{title: "purchases per second", series: []series{
		{"accepted", blue, of(func(s Second) float64 { return float64(s.Accepted) })},
		{"told", green, of(func(s Second) float64 { return float64(s.Told) })},
		{"errors", red, of(func(s Second) float64 { return float64(s.Errors) })},
	}}
	latency := chart{title: "latency in ms, from the moment a purchase was due", series: []series{
		{"to 202, p50", blue, of(func(s Second) float64 { return s.AcceptP50 })},
		{"to 202, p99", orange, of(func(s Second) float64 { return s.AcceptP99 })},
		{"to the result, p50", green, of(func(s Second) float64 { return s.ToldP50 })},
		{"to the result, p99", red, of(func(s Second) float64 { return s.ToldP99 })},
	}}
	throughput.draw(on, 0)
	latency.draw(on, chartHeight)
}

// draw draws the chart in a band of the canvas that begins at top.
func (c chart) draw(on canvas, top float64) {
	left, right := float64(marginLeft), float64(plotWidth-marginRight)
	upper, lower := top+marginTop, top+chartHeight-marginBottom
	count, highest := 1, 0.0
	for _, s := range c.series {
		count = max(count, len(s.values))
		for _, v := range s.values {
			highest = max(highest, v)
		}
	}
	step := niceStep(highest / 4)
	ceiling := step * math.Max(1, math.Ceil(highest/step))
	x := func(second float64) float64 { return left + second/float64(count)*(right-left) }
	y := func(value float64) float64 { return lower - value/ceiling*(lower-upper) }

	for value := 0.0; value <= ceiling+step/2; value += step {
		on.line([]point{{left, y(value)}, {right, y(value)}}, 0.5, gray)
		on.text(point{left - 8, y(value) + 4}, anchorEnd, strconv.FormatFloat(value, 'g', 6, 64))
	}
	for second, step := 0.0, math.Max(1, niceStep(float64(count)/8)); second <= float64(count); second += step {
		on.text(point{x(second), lower + 18}, anchorMiddle, strconv.FormatFloat(second, 'f', 0, 64)+" s")
	}
	on.text(point{left, top + 20}, anchorStart, c.title)
	c.drawLegend(on, point{right, top + 20})
	for _, s := range c.series {
		points := make([]point, len(s.values))
		for i, v := range s.values {
			points[i] = point{x(float64(i) + 0.5), y(v)}
		}
		on.line(points, 2, s.color)
	}
}

// drawLegend names the series from right to left.
func (c chart) drawLegend(on canvas, at point) {
	const letter, gap, dash = 6, 16, 16
	for _, s := range slices.Backward(c.series) {
		on.text(at, anchorEnd, s.name)
		at.x -= float64(len(s.name))*letter + dash
		on.line([]point{{at.x - 4, at.y - 4}, {at.x + dash - 8, at.y - 4}}, 2, s.color)
		at.x -= gap
	}
}

// niceStep is the least of 1, 2 and 5 times a power of ten that is not below v.
func niceStep(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= v {
			return factor * power
		}
	}
	return 10 * power
}
