package enrich

import "time"

// Need is an attribute that must be asked for and the providers that may know
// it, in the listed order, without those that recently did not. The list is not
// to be changed.
type Need struct {
	Attribute Attribute
	Sources   []string
}

// consider decides what of one subject the request waits for, and what is asked
// for in the background because it is stale or soon will be.
func (s *Service) consider(q *question, h *half) {
	if len(h.wanted) == 0 || q.cache == CacheOnly {
		return
	}
	counts, soon := q.counting(h.found.record), q.soon()
	needs := s.needs(q, h.part, counts, 0)
	switch {
	case len(needs) == 0:
		var ahead []Need
		if soon > 0 {
			ahead = q.usable(s.needs(q, h.part, counts, soon), counts) // absences are not asked for ahead
		}
		h.settled = len(ahead) == 0
		s.refreshAhead(q, h.part, ahead, soon)
	case q.mayBeStale() && len(q.usable(needs, counts)) == len(needs):
		s.refresh(q, h.part, needs, 0)
	default:
		h.needs = needs
	}
}

// usable lists the needs for which a value may answer, stale or fresh.
func (q *question) usable(needs []Need, counts Record) (usable []Need) {
	for _, need := range needs {
		facts := counts.About(need.Attribute)
		for i := range facts {
			if q.config.Freshness.usable(&facts[i], q.now) {
				usable = append(usable, need)
				break
			}
		}
	}
	return usable
}

// needs lists what must be asked for, given the facts that count: now, or when a
// share of each attribute's life has gone by.
func (s *Service) needs(q *question, part part, counts Record, soon float64) (needs []Need) {
	freshness := &q.config.Freshness
	for attribute, facts := range counts.along(part.wanted) {
		at := q.now
		if soon > 0 {
			at = at.Add(time.Duration(soon * float64(freshness.freshFor(attribute))))
		}
		if best(facts, func(fact *Fact) bool { return freshness.fresh(fact, at, q.maxAge) }) != nil {
			continue
		}
		if need, missing := freshness.need(attribute, facts, s.sources(q, part, attribute), at); missing {
			if needs == nil { // the rest is likely to be missing too
				needs = make([]Need, 0, len(part.wanted))
			}
			needs = append(needs, need)
		}
	}
	return needs
}

// sources lists the providers that may be asked for an attribute. Without being
// named, an attribute is not bought where it has a price of its own.
func (s *Service) sources(q *question, part part, attribute Attribute) []string {
	if q.named {
		return s.Finder.Sources(part.account, attribute)
	}
	return s.Finder.Included(part.account, attribute)
}
