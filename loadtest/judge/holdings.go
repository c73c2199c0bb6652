package judge

import "slices"

// holdings are what a replica may come to hold more and more of, as figures
// call them.
var holdings = map[string]func(ProcessPoint) int64{
	"growth.memory":     func(p ProcessPoint) int64 { return p.RSS },
	"growth.goroutines": func(p ProcessPoint) int64 { return p.Goroutines },
	"growth.fds":        func(p ProcessPoint) int64 { return p.Files },
	"growth.threads":    func(p ProcessPoint) int64 { return p.Threads },
}

// leastQuarter is of how many seconds the quarters must be for growth to be
// told.
const leastQuarter = 3

// processFigures are what replicas held.
func (e Evidence) processFigures(f map[string]float64) {
	var cpu float64
	for _, p := range e.Processes {
		if p.Name == Redis || len(p.Points) == 0 {
			continue
		}
		for _, point := range p.Points {
			f["rss_peak_mib"] = max(f["rss_peak_mib"], float64(point.RSS)/(1<<20))
		}
		cpu += p.Points[len(p.Points)-1].CPU - p.Points[0].CPU
		for name, of := range holdings {
			if grown, known := p.growth(of); known {
				f[name] = max(f[name], grown)
			}
		}
	}
	if f["answered"] > 0 && cpu > 0 {
		f["cpu_seconds_per_1k"] = cpu / f["answered"] * 1000
	}
}

// growth is the median of the last quarter over that of the second one: in the
// first a replica warms up. Seconds that tell nothing are passed over.
func (p Process) growth(of func(ProcessPoint) int64) (grown float64, known bool) {
	quarter := len(p.Points) / 4
	if quarter < leastQuarter {
		return 0, false
	}
	early, late := median(p.Points[quarter:2*quarter], of), median(p.Points[3*quarter:], of)
	if early == 0 || late == 0 {
		return 0, false
	}
	return float64(late) / float64(early), true
}

// median of what of tells about the points, without zeros; 0 when there is
// nothing else.
func median(points []ProcessPoint, of func(ProcessPoint) int64) int64 {
	var values []int64
	for _, point := range points {
		if value := of(point); value > 0 {
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}
