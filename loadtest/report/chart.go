package report

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/enrichd/enrichd/loadtest/judge"
)

// chart is values over the seconds of a run, drawn as SVG.
type chart struct {
	title  string
	format func(float64) string // of values on the axis
	length float64              // seconds
	series []series
	bands  []judge.Band
	marks  []judge.Mark
	// log draws the values on a logarithmic axis.
	log bool
}

// series is one line, or the area below it. A NaN leaves a gap.
type series struct {
	name   string
	class  string // of the style sheet
	area   bool
	values []float64 // by second
}

// size is where a chart is drawn.
type size struct {
	class         string
	width, height float64
}

// Charts are drawn for wide and for narrow windows; the page shows one of them,
// so that letters stay readable.
var sizes = []size{{"wide", 860, 230}, {"narrow", 358, 210}}

const (
	left, right, top, bottom = 52.0, 8.0, 10.0, 22.0
	bandHeight               = 13.0
	mostPoints               = 240
)

// svg draws the chart in all sizes.
func (c chart) svg() string {
	var out strings.Builder
	for _, size := range sizes {
		c.draw(&out, size)
	}
	return out.String()
}

func (c chart) draw(out *strings.Builder, size size) {
	rows := bandRows(c.bands)
	height := size.height + float64(len(rows))*bandHeight
	plot := frame{x: left, y: top + float64(len(rows))*bandHeight, width: size.width - left - right, height: size.height - top - bottom, seconds: max(c.length, 1)}
	plot.low, plot.high = c.reach()
	plot.log = c.log
	fmt.Fprintf(out, `<svg class="%s" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s" xmlns="http://www.w3.org/2000/svg">`,
		size.class, size.width, height, html.EscapeString(c.title))
	for _, tick := range plot.ticks() {
		fmt.Fprintf(out, `<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/><text class="tick" x="%.1f" y="%.1f" text-anchor="end">%s</text>`,
			plot.x, plot.x+plot.width, plot.atY(tick), plot.atY(tick), plot.x-5, plot.atY(tick)+4, html.EscapeString(c.format(tick)))
	}
	c.drawTimes(out, plot, size)
	for i, row := range rows {
		y := top + float64(i)*bandHeight
		for _, band := range row {
			from, to := plot.atX(band.From), plot.atX(max(band.To, band.From))
			fmt.Fprintf(out, `<rect class="band %s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>`,
				band.Kind, from, y, max(to-from, 2), bandHeight-3, html.EscapeString(fmt.Sprintf("%s: %s, %.0f–%.0f s", band.Kind, band.What, band.From, band.To)))
			fmt.Fprintf(out, `<rect class="shade %s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, band.Kind, from, plot.y, max(to-from, 1), plot.height)
		}
		fmt.Fprintf(out, `<text class="tick" x="%.1f" y="%.1f" text-anchor="end">%s</text>`, plot.x-5, y+bandHeight-4, html.EscapeString(row[0].Kind))
	}
	for _, series := range c.series {
		series.draw(out, plot)
	}
	for i, mark := range c.marks {
		x := plot.atX(mark.At)
		fmt.Fprintf(out, `<line class="mark" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"><title>%s</title></line><text class="note" x="%.1f" y="%.1f">%d</text>`,
			x, x, plot.y, plot.y+plot.height, html.EscapeString(mark.What), x+2, plot.y+9, i+1)
	}
	out.WriteString("</svg>")
}

// drawTimes writes the seconds below.
func (c chart) drawTimes(out *strings.Builder, plot frame, size size) {
	step := niceStep(plot.seconds / (size.width / 90))
	for at := 0.0; at <= plot.seconds; at += step {
		anchor := "middle"
		if plot.atX(at) > plot.x+plot.width-14 {
			anchor = "end"
		}
		fmt.Fprintf(out, `<text class="tick" x="%.1f" y="%.1f" text-anchor="%s">%g s</text>`, plot.atX(at), plot.y+plot.height+15, anchor, at)
	}
}

// reach is the least and the highest value that is drawn.
func (c chart) reach() (low, high float64) {
	low = math.Inf(1)
	for _, series := range c.series {
		for _, value := range thin(series.values) {
			if !math.IsNaN(value) {
				high = max(high, value)
				if value > 0 {
					low = min(low, value)
				}
			}
		}
	}
	if high == 0 {
		high = 1
	}
	if !c.log {
		return 0, high * 1.08
	}
	if math.IsInf(low, 1) {
		low = high / 10
	}
	return math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high*1.01)))
}

// draw draws one series into the frame.
func (s series) draw(out *strings.Builder, plot frame) {
	values := thin(s.values)
	step := plot.seconds / float64(max(len(values), 1))
	var path strings.Builder
	begin := -1.0
	width := plot.width * step / plot.seconds
	end := func(x float64) {
		switch {
		case begin < 0:
		case s.area:
			fmt.Fprintf(&path, "L%.1f %.1fL%.1f %.1fZ", x, plot.y+plot.height, begin, plot.y+plot.height)
		case begin == x: // a value between gaps, which would be a line without a length
			fmt.Fprintf(&path, "m%.1f 0h%.1f", -width/2, width)
		}
		begin = -1
	}
	last := plot.x
	for i, value := range values {
		x := plot.atX((float64(i) + 0.5) * step)
		if math.IsNaN(value) || (plot.log && value <= 0) {
			end(last)
			continue
		}
		letter := "L"
		if begin < 0 {
			letter, begin = "M", x
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", letter, x, plot.atY(value))
		last = x
	}
	end(last)
	kind := "line"
	if s.area {
		kind = "area"
	}
	fmt.Fprintf(out, `<path class="%s %s" d="%s"><title>%s</title></path>`, kind, s.class, path.String(), html.EscapeString(s.name))
}

// thin joins seconds until at most mostPoints are left; each new point is the
// mean of what it stands for.
func thin(values []float64) []float64 {
	if len(values) <= mostPoints {
		return values
	}
	every := (len(values) + mostPoints - 1) / mostPoints
	var thinned []float64
	for from := 0; from < len(values); from += every {
		var sum float64
		var n int
		for _, value := range values[from:min(from+every, len(values))] {
			if !math.IsNaN(value) {
				sum += value
				n++
			}
		}
		if n == 0 {
			thinned = append(thinned, math.NaN())
			continue
		}
		thinned = append(thinned, sum/float64(n))
	}
	return thinned
}

// bandRows puts the bands of each kind into one row.
func bandRows(bands []judge.Band) (rows [][]judge.Band) {
	for _, kind := range []string{"fault", "pause", "breaker"} {
		var row []judge.Band
		for _, band := range bands {
			if band.Kind == kind {
				row = append(row, band)
			}
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}
