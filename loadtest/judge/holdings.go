package judge

import "slices"

// holdings are what a replica may come to hold more and more of, as figures call
// it.
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
	var replicas []Process
	for _, p := range e.Processes {
		if p.Name == Redis || len(p.Points) == 0 {
			continue
		}
		replicas = append(replicas, p)
		for _, point := range p.Points {
			f["rss_peak_mib"] = max(f["rss_peak_mib"], float64(point.RSS)/(1<<20))
		}
		cpu += p.Points[len(p.Points)-1].CPU - p.Points[0].CPU
	}
	for name, of := range holdings {
		if grown, known := growth(replicas, of); known {
			f[name] = grown
		}
	}
	if f["answered"] > 0 && cpu > 0 {
		f["cpu_seconds_per_1k"] = cpu / f["answered"] * 1000
	}
}

// growth is what all replicas together hold in the last quarter over what they do
// in the second one: in the first they warm up. One of them alone tells little: a
// connection that stays for a while is now in one and now in another.
func growth(replicas []Process, of func(ProcessPoint) int64) (grown float64, known bool) {
	if len(replicas) == 0 {
		return 0, false
	}
	seconds := len(slices.MinFunc(replicas, func(a, b Process) int { return len(a.Points) - len(b.Points) }).Points)
	quarter := seconds / 4
	if quarter < leastQuarter {
		return 0, false
	}
	early, late := held(replicas, quarter, 2*quarter, of), held(replicas, 3*quarter, seconds, of)
	if early == 0 || late == 0 {
		return 0, false
	}
	return float64(late) / float64(early), true
}

// held is the median of what the replicas hold between two seconds, of those in
// which each tells something; 0 when there is none.
func held(replicas []Process, from, to int, of func(ProcessPoint) int64) int64 {
	var sums []int64
	for second := from; second < to; second++ {
		var sum int64
		all := true
		for _, p := range replicas {
			value := of(p.Points[second])
			sum += value
			all = all && value > 0
		}
		if all {
			sums = append(sums, sum)
		}
	}
	if len(sums) == 0 {
		return 0
	}
	slices.Sort(sums)
	return sums[len(sums)/2]
}
