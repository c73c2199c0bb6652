package judge

import "slices"

// holding is something of which a replica may come to hold more and more.
type holding struct {
	of func(ProcessPoint) int64
	// share of the seconds that hold no more than what is compared: the median
	// of what stays, and of what traffic takes and gives back the little that is
	// left when least of it is under way.
	share float64
}

// holdings are all of them, as figures call them.
var holdings = map[string]holding{
	"growth.memory":     {func(p ProcessPoint) int64 { return p.RSS }, 0.5},
	"growth.goroutines": {func(p ProcessPoint) int64 { return p.Goroutines }, 0.1},
	"growth.fds":        {func(p ProcessPoint) int64 { return p.Files }, 0.1},
	"growth.threads":    {func(p ProcessPoint) int64 { return p.Threads }, 0.5},
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
		for name, h := range holdings {
			if grown, known := p.growth(h); known {
				f[name] = max(f[name], grown)
			}
		}
	}
	if f["answered"] > 0 && cpu > 0 {
		f["cpu_seconds_per_1k"] = cpu / f["answered"] * 1000
	}
}

// growth is what the last quarter holds over what the second one does: in the
// first a replica warms up. Seconds that tell nothing are passed over.
func (p Process) growth(h holding) (grown float64, known bool) {
	quarter := len(p.Points) / 4
	if quarter < leastQuarter {
		return 0, false
	}
	early, late := h.held(p.Points[quarter:2*quarter]), h.held(p.Points[3*quarter:])
	if early == 0 || late == 0 {
		return 0, false
	}
	return float64(late) / float64(early), true
}

// held is what the points hold, without zeros; 0 when there is nothing else.
func (h holding) held(points []ProcessPoint) int64 {
	var values []int64
	for _, point := range points {
		if value := h.of(point); value > 0 {
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[int(float64(len(values))*h.share)]
}
