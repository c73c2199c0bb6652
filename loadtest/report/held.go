package report

import (
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/enrichd/enrichd/loadtest/judge"
)

// heldDrawings are what processes held over time: what grows without end kills
// a service in its second week.
func heldDrawings(r *judge.Report) (drawings []drawing) {
	for _, what := range []struct {
		title, figure string
		of            func(judge.ProcessPoint) float64
	}{
		{"Resident memory, MiB", "growth.memory", func(p judge.ProcessPoint) float64 { return float64(p.RSS) / (1 << 20) }},
		{"Goroutines", "growth.goroutines", func(p judge.ProcessPoint) float64 { return float64(p.Goroutines) }},
		{"Open files", "growth.fds", func(p judge.ProcessPoint) float64 { return float64(p.Files) }},
	} {
		c := chart{title: what.title, format: plain, length: r.Seconds, marks: r.Marks}
		d := drawing{Title: what.title}
		var last []string
		for i, process := range r.Processes {
			values := bySecond(process, int(r.Seconds), what.of)
			at := slices.IndexFunc(values, func(value float64) bool { return !math.IsNaN(value) })
			if at < 0 {
				continue // Redis has no goroutines
			}
			class := palette[i%len(palette)]
			c.series = append(c.series, series{process.Name, class, false, values})
			d.Legend = append(d.Legend, key{class, process.Name})
			last = append(last, process.Name+" "+plain(lastKnown(values)))
		}
		if len(c.series) == 0 {
			continue
		}
		d.Note = "at the end: " + strings.Join(last, ", ")
		if grown, known := r.Figures[what.figure]; known {
			d.Note += "; " + what.figure + " " + figure(what.figure, grown)
		}
		d.SVG = template.HTML(c.svg()) // drawn here, every text in it escaped
		drawings = append(drawings, d)
	}
	return drawings
}

// bySecond has a value for every second. NaN stands where the process was away
// or told nothing.
func bySecond(p judge.Process, seconds int, of func(judge.ProcessPoint) float64) []float64 {
	values := make([]float64, seconds+1)
	for at := range values {
		values[at] = math.NaN()
	}
	for _, point := range p.Points {
		if value := of(point); point.At < len(values) && value > 0 {
			values[point.At] = value
		}
	}
	return values
}

func lastKnown(values []float64) float64 {
	for _, value := range slices.Backward(values) {
		if !math.IsNaN(value) {
			return value
		}
	}
	return math.NaN()
}
