package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/enrichd/enrichd/loadtest/drive"
	"github.com/enrichd/enrichd/loadtest/judge"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"measured": measured, "wait": wait, "failures": failures, "unpunctual": unpunctual,
}).Parse(pageText))

// pageData is what the page shows.
type pageData struct {
	*judge.Report
	Word, Sentence string
	Class          string // of the verdict: good, bad or open
	Tiles          []tile
	Figures        []line
	Vendors        []drawing
	Others         []drawing
}

// tile is one large figure. Failed ones have not kept to a bound.
type tile struct {
	Name, Value, Note string
	Failed            bool
}

// line is one figure with its meaning.
type line struct{ Name, Value, Meaning string }

// drawing is one chart with its legend.
type drawing struct {
	Title  string
	Note   string
	Legend []key
	SVG    template.HTML
}

// key explains one colour.
type key struct{ Class, Name string }

// WriteHTML writes the page: one file, no scripts, nothing fetched.
func WriteHTML(w io.Writer, r *judge.Report) error {
	word, sentence := verdict(r)
	data := pageData{Report: r, Word: word, Sentence: sentence, Class: map[string]string{"Good": "good", "Not good": "bad"}[word]}
	data.Tiles = tiles(r)
	for _, name := range slices.Sorted(maps.Keys(r.Figures)) {
		data.Figures = append(data.Figures, line{name, figure(name, r.Figures[name]), judge.Meaning(name)})
	}
	for _, vendor := range r.Vendors {
		data.Vendors = append(data.Vendors, vendorDrawing(r, vendor))
	}
	data.Others = append(data.Others, answersDrawing(r))
	for _, t := range r.Traffic {
		data.Others = append(data.Others, latencyDrawing(r, t))
	}
	data.Others = append(data.Others, heldDrawings(r)...)
	return page.Execute(w, data)
}

// tiles are the figures that matter most, those that the run has.
func tiles(r *judge.Report) (tiles []tile) {
	for _, one := range []struct{ figure, name, note string }{
		{"answered", "answers", "%s a second"},
		{"quota_used", "of the vendors' quota used", ""},
		{"refused_per_10k", "refusals per 10,000 calls", ""},
		{"duplicates", "paid twice", ""},
		{"calls_per_lead", "vendor calls per lead", ""},
		{"hit_ratio", "answered from the caches", ""},
		{"failed_share", "failed", ""},
		{"lost_share", "of the leads lost", ""},
		{"missing_share", "of the fields missing", ""},
		{"wrong_answers", "wrong answers", ""},
		{"saved_share", "of the cost saved by the caches", ""},
	} {
		value, known := r.Figures[one.figure]
		if !known {
			continue
		}
		note := ""
		if one.note != "" {
			note = fmt.Sprintf(one.note, figure("", r.Figures["answered_per_second"]))
		}
		if whose := ofVendor(r, one.figure, value); whose != "" {
			note = "the least: " + whose
		}
		failed := slices.ContainsFunc(r.Checks, func(check judge.Check) bool {
			return !check.Passed && (check.Figure == one.figure || strings.HasPrefix(check.Figure, one.figure+"."))
		})
		tiles = append(tiles, tile{one.name, strings.ReplaceAll(figure(one.figure, value), " %", "%"), note, failed})
	}
	return tiles
}

// ofVendor names the vendor, one of several, whose figure stands for all.
func ofVendor(r *judge.Report, name string, value float64) string {
	if len(r.Vendors) < 2 {
		return ""
	}
	for _, vendor := range r.Vendors {
		if its, known := r.Figures[name+"."+vendor.Name]; known && its == value {
			return vendor.Name
		}
	}
	return ""
}

// vendorDrawing is a vendor's calls against its quota.
func vendorDrawing(r *judge.Report, v judge.Vendor) drawing {
	admitted, refused, failed, quota := column(v.Points, func(p judge.VendorPoint) float64 { return float64(p.Admitted) }),
		column(v.Points, func(p judge.VendorPoint) float64 { return float64(p.Refused) }),
		column(v.Points, func(p judge.VendorPoint) float64 { return float64(p.Failed) }),
		column(v.Points, func(p judge.VendorPoint) float64 {
			if p.Quota == 0 {
				return math.NaN()
			}
			return p.Quota
		})
	c := chart{title: v.Name, format: plain, length: r.Seconds, marks: r.Marks}
	for _, band := range r.Bands {
		if band.Vendor == v.Name {
			c.bands = append(c.bands, band)
		}
	}
	c.series = []series{{"admitted", "one", true, admitted}, {"failed", "three", false, failed}, {"refused", "bad", false, refused}, {"quota, on average", "limit", false, quota}}
	d := drawing{Title: v.Name + ": calls a second against its quota",
		Note:   fmt.Sprintf("%d calls, %d refused by a limit, %d paid twice", v.Calls, v.RateLimited, v.Duplicates),
		Legend: []key{{"one", "admitted"}, {"three", "met a fault"}, {"bad", "refused by a limit"}, {"limit", "quota, on average"}}}
	if v.Allowed > 0 {
		d.Note += fmt.Sprintf("; its limits allowed %.0f", v.Allowed)
	}
	if v.Cut > 0 {
		d.Note += "; " + cut(v)
	}
	d.SVG = template.HTML(c.svg()) // drawn here, every text in it escaped
	return d
}

var palette = []string{"one", "two", "three", "four", "five", "six"}

// answersDrawing is what came back over time.
func answersDrawing(r *judge.Report) drawing {
	c := chart{title: "answers", format: plain, length: r.Seconds, marks: r.Marks}
	d := drawing{Title: "Answers a second"}
	failed := make([]float64, 0)
	for i, t := range r.Traffic {
		class := palette[i%len(palette)]
		c.series = append(c.series, series{t.Name, class, false, column(t.Points, func(p drive.Point) float64 { return float64(p.Answered) })})
		d.Legend = append(d.Legend, key{class, t.Name})
		for at, point := range t.Points {
			if at == len(failed) {
				failed = append(failed, 0)
			}
			failed[at] += float64(point.Failed)
		}
	}
	c.series = append(c.series, series{"failed", "bad", false, failed})
	d.Legend = append(d.Legend, key{"bad", "failed, all"})
	d.SVG = template.HTML(c.svg())
	return d
}

// latencyDrawing is one traffic's waits over time.
func latencyDrawing(r *judge.Report, t judge.Traffic) drawing {
	at := func(of func(drive.Point) float64) []float64 {
		return column(t.Points, func(p drive.Point) float64 {
			if p.Answered == 0 {
				return math.NaN()
			}
			return of(p)
		})
	}
	c := chart{title: "latency of " + t.Name, format: seconds, length: r.Seconds, marks: r.Marks, log: true}
	c.series = []series{
		{"p99", "three", false, at(func(p drive.Point) float64 { return p.P99 })},
		{"p95", "two", false, at(func(p drive.Point) float64 { return p.P95 })},
		{"p50", "one", false, at(func(p drive.Point) float64 { return p.P50 })},
	}
	note := fmt.Sprintf("from the intended start; half within %s, 95 %% within %s, 99 %% within %s", seconds(t.Tally.P50), seconds(t.Tally.P95), seconds(t.Tally.P99))
	if t.Tally.Answered == 0 {
		note = "nothing was answered"
	}
	return drawing{Title: "Time to an answer: " + t.Name + " (" + t.Lane + " lane, " + t.Via + ")",
		Note:   note,
		Legend: []key{{"one", "half"}, {"two", "95 %"}, {"three", "99 %"}},
		SVG:    template.HTML(c.svg())}
}

func column[P any](points []P, of func(P) float64) []float64 {
	values := make([]float64, len(points))
	for i, point := range points {
		values[i] = of(point)
	}
	return values
}

func plain(value float64) string {
	if value >= 1000 {
		return fmt.Sprintf("%.3gk", value/1000)
	}
	return fmt.Sprintf("%.4g", value)
}
