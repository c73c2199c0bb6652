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
	var needs, ahead []Need
	counts, soon, stale := q.counting(h.found.record), q.soon(), true
	for attribute, facts := range counts.along(h.wanted) {
		need, lacks := s.lacks(q, &h.part, attribute, facts, soon)
		if !lacks { // nor does it now
			continue
		}
		usable := best(facts, q.usable) != nil
		if soon > 0 && len(facts) > 0 {
			now, lacksNow := s.lacks(q, &h.part, attribute, facts, 0)
			if !lacksNow {
				if usable { // absences are not asked for ahead
					ahead = append(ahead, need)
				}
				continue
			}
			need = now
		}
		if needs == nil { // the rest is likely to be missing too
			needs = make([]Need, 0, len(h.wanted))
		}
		needs = append(needs, need)
		stale = stale && usable
	}
	switch {
	case len(needs) == 0:
		h.settled = len(ahead) == 0
		s.refreshAhead(q, h.part, ahead, soon)
	case q.mayBeStale() && stale:
		s.refresh(q, h.part, needs, 0)
	default:
		h.needs = needs
	}
}

// needs lists what must be asked for, given the facts that count: now, or when a
// share of each attribute's life has gone by.
func (s *Service) needs(q *question, part part, counts Record, soon float64) (needs []Need) {
	for attribute, facts := range counts.along(part.wanted) {
		if need, lacks := s.lacks(q, &part, attribute, facts, soon); lacks {
			if needs == nil { // as above
				needs = make([]Need, 0, len(part.wanted))
			}
			needs = append(needs, need)
		}
	}
	return needs
}

// lacks tells whether an attribute must be asked for, given the facts about it.
func (s *Service) lacks(q *question, part *part, attribute Attribute, facts []Fact, soon float64) (Need, bool) {
	freshFor, at := q.config.Freshness.freshFor(attribute), q.now
	if soon > 0 {
		at = at.Add(time.Duration(soon * float64(freshFor)))
	}
	for i := range facts {
		if q.fresh(&facts[i], freshFor, at) {
			return Need{}, false
		}
	}
	return q.config.Freshness.need(attribute, facts, s.sources(q, part, attribute), at)
}

// sources lists the providers that may be asked for an attribute. Without being
// named, an attribute is not bought where it has a price of its own.
func (s *Service) sources(q *question, part *part, attribute Attribute) []string {
	if q.named {
		return s.Finder.Sources(part.account, attribute)
	}
	return s.Finder.Included(part.account, attribute)
}
