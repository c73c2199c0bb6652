package judge

import (
	"math"
	"strings"
	"time"

	"github.com/enrichd/enrichd/providers/fakevendor"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

// meanings of the figures that every report may have. Those with a dot have
// more of their kind, one for each traffic or vendor.
var meanings = map[string]string{
	"answered":             "questions that got an answer; that vendors know nothing is one",
	"answered_per_second":  "the same per second of load",
	"failed_share":         "errors over questions that came back",
	"found_share":          "answers with a fact over all answers",
	"lost_share":           "leads about whom nothing came, or an error, over leads that a vendor knows; with a target, that its file tells something of",
	"missing_share":        "fields that did not come with answers that had others, over fields that were asked for and a vendor knows; with a target, that its file tells",
	"wrong_answers":        "answers that are not what the vendors hold true; with a target, not what its file tells",
	"unfinished":           "questions under way when the load ended, within their budget",
	"vendor_calls":         "calls in the vendors' ledgers",
	"calls_per_lead":       "those calls over the different people and companies that they asked for, over all vendors together",
	"retry_depth":          "how often the call was made that a vendor got most often",
	"retry_spread":         "standard deviation over mean of the time between a call and its repeat",
	"refused_per_10k":      "calls that a limit or a ban refused, per 10,000 calls; not those that a fault did",
	"late_refused_per_10k": "the same in the second half of the load, when what there is to learn of a limit has been learnt",
	"too_many_per_10k":     "calls answered 429, faults included, per 10,000 calls",
	"after_spent":          "calls refused because a day or month was spent",
	"duplicates":           "calls billed for what had been billed before",
	"quota_used":           "calls admitted over calls that the limits allowed, in whole windows, of the vendor with the least",
	"cost_micros":          "what vendors billed, in micros: millionths of the price list's currency",
	"cost_per_record":      "the same for each answer that found something",
	"hit_ratio":            "answers from the caches over all answers that found something",
	"saved_micros":         "what the cached answers would have cost at the price of the others",
	"saved_share":          "the same over what everything would have cost",
	"redis_trips_per_lead": "round trips to Redis for each question",
	"rss_peak_mib":         "the most resident memory of one replica",
	"growth.*":             "the median of the last quarter over that of the second, of all replicas together: memory (resident), threads, goroutines and fds (open files)",
	"cpu_seconds_per_1k":   "processor time of all replicas for 1,000 answers",
	"wait.*.p50":           "seconds from the intended start to the answer, of one traffic; also p95, p99, max",
	"overtaken.*":          "how many questions of one traffic were answered, at most, before one that had been asked a second earlier or more, or that never was answered",
	"failed_share.*":       "errors of one traffic",
	"lost_share.*":         "lost leads of one traffic",
	"missing_share.*":      "missing fields of one traffic",
	"answered.*":           "answers of one traffic",
	"quota_used.*":         "of one vendor",
}

// Meaning of a figure by its name, or nothing for an unknown one.
func Meaning(name string) string {
	if text, known := meanings[name]; known {
		return text
	}
	base, rest, _ := strings.Cut(name, ".")
	if i := strings.LastIndex(rest, "."); i >= 0 {
		if text, known := meanings[base+".*"+rest[i:]]; known {
			return text
		}
	}
	if text, known := meanings[base+".*.p50"]; known {
		return text
	}
	return meanings[base+".*"]
}

// figures counts everything that can be told.
func (e Evidence) figures() map[string]float64 {
	f := map[string]float64{}
	e.askFigures(f)
	e.ledgerFigures(f)
	e.processFigures(f)
	if found := f["answered"] - f["not_found"]; found > 0 {
		f["cost_per_record"] = f["cost_micros"] / found
	}
	delete(f, "not_found")
	e.savings(f)
	if e.RedisTrips >= 0 && f["answered"] > 0 {
		f["redis_trips_per_lead"] = float64(e.RedisTrips) / f["answered"]
	}
	return f
}

// askFigures are what callers saw.
func (e Evidence) askFigures(f map[string]float64) {
	var asked, answered, failed, cached, found, notFound int64
	var examined Examined
	for _, t := range e.Traffic {
		asked, answered, failed = asked+t.Tally.Asked, answered+t.Tally.Answered, failed+t.Tally.Failed()
		cached += t.Tally.Tiers["memory"] + t.Tally.Tiers["redis"]
		for _, n := range t.Tally.Tiers {
			found += n
		}
		notFound += t.Tally.Outcomes["not_found"]
		examined.Known, examined.Lost = examined.Known+t.Examined.Known, examined.Lost+t.Examined.Lost
		examined.Fields, examined.Missing = examined.Fields+t.Examined.Fields, examined.Missing+t.Examined.Missing
		examined.Compared, examined.Wrong = examined.Compared+t.Examined.Compared, examined.Wrong+t.Examined.Wrong
		setShare(f, "lost_share."+t.Name, 1, t.Examined.Lost, t.Examined.Known)
		setShare(f, "missing_share."+t.Name, 1, t.Examined.Missing, t.Examined.Fields)
		if t.Tally.Answered > 0 {
			f["wait."+t.Name+".p50"], f["wait."+t.Name+".p95"] = t.Tally.P50, t.Tally.P95
			f["wait."+t.Name+".p99"], f["wait."+t.Name+".max"] = t.Tally.P99, t.Tally.Max
			f["overtaken."+t.Name] = float64(t.Tally.Overtaken)
		}
		f["answered."+t.Name] = float64(t.Tally.Answered)
		setShare(f, "failed_share."+t.Name, 1, t.Tally.Failed(), t.Tally.Failed()+t.Tally.Answered)
	}
	f["answered"], f["not_found"] = float64(answered), float64(notFound)
	f["answered_per_second"] = float64(answered) / max(e.Length.Seconds(), 1e-9)
	setShare(f, "failed_share", 1, failed, failed+answered)
	setShare(f, "found_share", 1, found, answered)
	setShare(f, "lost_share", 1, examined.Lost, examined.Known)
	setShare(f, "missing_share", 1, examined.Missing, examined.Fields)
	if examined.Compared > 0 {
		f["wrong_answers"] = float64(examined.Wrong)
	}
	f["unfinished"] = float64(asked - answered - failed)
	setShare(f, "hit_ratio", 1, cached, found)
}

// ledgerFigures are what vendors saw.
func (e Evidence) ledgerFigures(f map[string]float64) {
	var calls, refused, tooMany, duplicates, cost, spent, depth, cut, lateCalls, lateRefused int64
	var gaps []float64
	subjects := map[string]bool{} // vendors of one server call them alike
	for _, l := range e.Ledgers {
		calls, refused, tooMany = calls+l.Summary.Calls, refused+l.refused(), tooMany+l.Summary.TooMany
		duplicates, cost = duplicates+l.Summary.Duplicates, cost+l.Summary.ChargedMicros
		spent, cut = spent+l.spent(), cut+l.Cut
		last := map[string]time.Time{}
		times := map[string]int64{}
		half := e.Began.Add(e.Length / 2)
		for _, entry := range l.Entries {
			if !entry.Time.Before(half) {
				lateCalls++
				if entry.Limit != "" && !struck(entry) {
					lateRefused++
				}
			}
			if before, again := last[entry.Request]; again {
				gaps = append(gaps, entry.Time.Sub(before).Seconds())
			}
			last[entry.Request] = entry.Time
			times[entry.Request]++
			depth = max(depth, times[entry.Request])
			if entry.Subject != "" {
				subjects[entry.Subject] = true
			}
		}
		until, whole := l.judged(e.Began, e.Began.Add(e.Length))
		if allowed := l.allowed(e.Began, until); whole && allowed > 0 {
			used := float64(l.admitted(e.Began, until)) / allowed
			f["quota_used."+l.Name] = used
			if least, known := f["quota_used"]; !known || used < least {
				f["quota_used"] = used
			}
		}
	}
	if len(e.Ledgers) == 0 {
		return
	}
	f["vendor_calls"], f["cost_micros"] = float64(calls), float64(cost)
	if calls > 0 { // who never calls proves nothing by it, nor do ledgers of vendors that somebody else asks
		f["duplicates"], f["after_spent"] = float64(duplicates), float64(spent)
	}
	setShare(f, "refused_per_10k", 10_000, refused, calls)
	setShare(f, "too_many_per_10k", 10_000, tooMany, calls)
	if cut > 0 {
		return // what is left would tell of fewer leads and fewer repeats
	}
	setShare(f, "late_refused_per_10k", 10_000, lateRefused, lateCalls)
	setShare(f, "calls_per_lead", 1, calls, int64(len(subjects)))
	if depth > 0 {
		f["retry_depth"] = float64(depth)
	}
	if len(gaps) > 1 {
		f["retry_spread"] = spread(gaps)
	}
}

// savings compares with a service that remembers nothing: every answer would
// cost what those of vendors did.
func (e Evidence) savings(f map[string]float64) {
	var fromVendors, found int64
	for _, t := range e.Traffic {
		fromVendors += t.Tally.Tiers["vendor"]
		found += t.Tally.Tiers["vendor"] + t.Tally.Tiers["memory"] + t.Tally.Tiers["redis"]
	}
	if fromVendors == 0 || f["cost_micros"] == 0 {
		return
	}
	whole := f["cost_micros"] / float64(fromVendors) * float64(found)
	f["saved_micros"] = whole - f["cost_micros"]
	f["saved_share"] = f["saved_micros"] / whole
}

// refused is how many calls a limit or a ban refused. Faults that refuse as if
// they were one are booked under their own names.
func (l Ledger) refused() (n int64) {
	for limit, refused := range l.Summary.RefusedBy {
		if limit != string(fakevendor.Storm) && limit != string(fakevendor.Sequence) {
			n += refused
		}
	}
	return n
}

// spent is how many calls a spent day or month refused.
func (l Ledger) spent() (n int64) {
	for _, quota := range l.Quotas {
		for _, limit := range quota.Limits {
			if limit.Shape == strict.Day || limit.Shape == strict.Month {
				n = max(n, l.Summary.RefusedBy[limit.Name])
			}
		}
	}
	return n
}

// admitted counts the calls between two moments that no limit refused and no
// fault kept from being counted.
func (l Ledger) admitted(from, to time.Time) (n int64) {
	for _, entry := range l.Entries {
		if !entry.Time.Before(from) && entry.Time.Before(to) && counted(entry) {
			n++
		}
	}
	return n
}

// counted tells whether a call was taken from the vendor's limits.
func counted(entry fakevendor.Entry) bool { return entry.Limit == "" && !struck(entry) }

// struck tells whether a fault decided about a call before any limit did.
func struck(entry fakevendor.Entry) bool {
	switch entry.Fault {
	case fakevendor.Outage, fakevendor.Brownout, fakevendor.Storm, fakevendor.HTML, fakevendor.Redirect:
		return true
	case fakevendor.Sequence:
		return entry.Status != 200
	}
	return false
}

// setShare sets a figure to so many parts of a whole. Of nothing there is no
// share: the figure is left out, so that no bound on it holds.
func setShare(f map[string]float64, name string, scale float64, part, whole int64) {
	if whole > 0 {
		f[name] = scale * float64(part) / float64(whole)
	}
}

// spread is the standard deviation over the mean of two values or more.
func spread(values []float64) float64 {
	var sum, squares float64
	for _, value := range values {
		sum += value
	}
	mean := sum / float64(len(values))
	for _, value := range values {
		squares += (value - mean) * (value - mean)
	}
	if mean == 0 {
		return 0
	}
	return math.Sqrt(squares/float64(len(values)-1)) / mean
}
