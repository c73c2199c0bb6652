package judge

import (
	"math"
	"time"

	"github.com/enrichd/enrichd/loadtest/scenario"
)

// Judge returns what came out of a run of the scenario, and whether it is good.
func Judge(s *scenario.Scenario, e Evidence) *Report {
	r := &Report{
		Scenario: s.Name, About: s.About, Replicas: s.Replicas,
		Began: e.Began, Seconds: e.Length.Seconds(), Planned: s.Length.Seconds(), Interrupted: e.Interrupted,
		Figures: e.figures(), Traffic: e.Traffic, Processes: e.Processes, Marks: e.Marks,
	}
	if s.Target != nil {
		r.Replicas = 0 // nobody knows
	}
	for _, ledger := range e.Ledgers {
		r.Vendors = append(r.Vendors, ledger.vendor(e.Began, e.Length))
		r.Bands = append(r.Bands, ledger.faultBands(e.Began)...)
	}
	r.Bands = append(r.Bands, e.Bands...)
	r.Passed = !e.Interrupted
	for _, line := range s.SLO {
		bound, err := scenario.ParseBound(line)
		if err != nil { // the scenario was checked when it was read
			continue
		}
		value, known := r.Figures[bound.Figure]
		check := Check{Line: line, Figure: bound.Figure, Value: value, Known: known, Passed: known && bound.Holds(value)}
		r.Checks = append(r.Checks, check)
		r.Passed = r.Passed && check.Passed
	}
	return r
}

// vendor sums a ledger up second by second.
func (l Ledger) vendor(began time.Time, length time.Duration) Vendor {
	until, _ := l.judged(began, began.Add(length))
	v := Vendor{
		Name: l.Name, Calls: l.Summary.Calls, Cut: l.Cut, RateLimited: l.refused(), TooMany: l.Summary.TooMany,
		Duplicates: l.Summary.Duplicates, CostMicros: l.Summary.ChargedMicros,
		Allowed: l.allowed(began, until),
	}
	v.Points = make([]VendorPoint, int(math.Round(length.Seconds())))
	for i := range v.Points {
		v.Points[i] = VendorPoint{At: i, Quota: l.quotaAt(began.Add(time.Duration(i) * time.Second))}
	}
	for _, entry := range l.Entries {
		at := int(entry.Time.Sub(began).Seconds())
		if at < 0 || at >= len(v.Points) {
			continue
		}
		switch point := &v.Points[at]; {
		case struck(entry):
			point.Failed++
		case entry.Limit != "":
			point.Refused++
		default:
			point.Admitted++
		}
	}
	return v
}

// faultBands are the times in which faults struck, joined over gaps of two
// seconds.
func (l Ledger) faultBands(began time.Time) (bands []Band) {
	open := map[string]int{} // by kind, the index in bands
	for _, entry := range l.Entries {
		if entry.Fault == "" {
			continue
		}
		at := entry.Time.Sub(began).Seconds()
		i, known := open[string(entry.Fault)]
		if known && at-bands[i].To <= 2 {
			bands[i].To = at
			continue
		}
		open[string(entry.Fault)] = len(bands)
		bands = append(bands, Band{Vendor: l.Name, Kind: "fault", What: string(entry.Fault), From: at, To: at + 0.5})
	}
	return bands
}
