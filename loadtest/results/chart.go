package results

import (
	"fmt"
	"html"
	"io"
	"strings"
)

// The chart is two panels of bars side by side, for a page of 800 pixels. It
// brings its own ground, so that it can be read on a light and on a dark page.
const (
	chartWidth = 800
	panelLeft  = 24 // of the left panel's bars
	panelRight = 424
	barLength  = 290 // of all calls
	barHeight  = 15
	barStep    = 19
	groupHead  = 26
	groupGap   = 12
	chartHead  = 104
)

const chartStyle = `<style>
.ground{fill:#fff;stroke:#dfe4ea}text{font:13px system-ui,sans-serif;fill:#1b2430}.title{font-size:17px;font-weight:600}.soft{fill:#5b6675}
.row{font-weight:600}.track{fill:#eef1f5}.p0{fill:#2f6fde}.p1{fill:#d9822b}.p2{fill:#17897f}.p3{fill:#b0387a}
@media (prefers-color-scheme:dark){.ground{fill:#12171e;stroke:#2b3541}text{fill:#e6eaf0}.soft{fill:#9aa7b8}.track{fill:#1f2732}
.p0{fill:#6ea0ff}.p1{fill:#f0a657}.p2{fill:#47bfb3}.p3{fill:#e27bb2}}
</style>`

// compared are the rows in which the usual policies were measured too.
func (r *Results) compared() (rows []Row) {
	for _, row := range r.Rows {
		if len(row.Drains) > 1 {
			rows = append(rows, row)
		}
	}
	return rows
}

// rule is the vendor's limit that a row is about.
func (r Row) rule() string {
	rule, _, _ := strings.Cut(r.What, ":")
	return rule
}

// Chart draws how the service and the usual policies did at vendors' limits, as
// SVG. The same results make the same drawing.
func (r *Results) Chart(w io.Writer) error {
	rows := r.compared()
	if len(rows) == 0 {
		return fmt.Errorf("no row has been kept in which the usual policies were measured beside the service")
	}
	var out strings.Builder
	y := chartHead
	for _, row := range rows {
		y += groupHead + barStep*len(row.Drains) + groupGap
	}
	height := y + 8
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="Calls done and calls refused at vendors' limits, by policy">`,
		chartWidth, height, chartWidth, height)
	out.WriteString(chartStyle)
	fmt.Fprintf(&out, `<rect class="ground" x="0.5" y="0.5" width="%d" height="%d" rx="8"/>`, chartWidth-1, height-1)
	label(&out, "title", panelLeft, 32, "At a vendor's limit: what gets done, and what is refused")
	for i, drain := range rows[0].Drains {
		x := panelLeft + i*190
		fmt.Fprintf(&out, `<rect class="p%d" x="%d" y="46" width="12" height="12" rx="2"/>`, i, x)
		label(&out, "", x+18, 57, drain.Policy)
	}
	label(&out, "soft", panelLeft, 90, "calls done, of those that the limit allows")
	label(&out, "soft", panelRight, 90, "calls refused with 429, of 10,000")
	y = chartHead
	for _, row := range rows {
		label(&out, "row", panelLeft, y+16, row.rule())
		y += groupHead
		for i, drain := range row.Drains {
			bar(&out, i, panelLeft, y, drain.Done, fmt.Sprintf("%.1f %%", 100*drain.Done))
			bar(&out, i, panelRight, y, drain.Refused/10_000, fmt.Sprintf("%.0f", drain.Refused))
			y += barStep
		}
		y += groupGap
	}
	out.WriteString("</svg>\n")
	_, err := io.WriteString(w, out.String())
	return err
}

// bar draws a share of all and writes its value behind it.
func bar(out *strings.Builder, policy, x, y int, share float64, value string) {
	share = min(max(share, 0), 1)
	fmt.Fprintf(out, `<rect class="track" x="%d" y="%d" width="%d" height="%d" rx="2"/><rect class="p%d" x="%d" y="%d" width="%.1f" height="%d" rx="2"/>`,
		x, y, barLength, barHeight, policy, x, y, max(share*barLength, 2), barHeight)
	label(out, "", x+barLength+8, y+12, value)
}

func label(out *strings.Builder, class string, x, y int, text string) {
	fmt.Fprintf(out, `<text class="%s" x="%d" y="%d">%s</text>`, class, x, y, html.EscapeString(text))
}
