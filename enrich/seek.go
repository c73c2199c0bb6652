package enrich

import (
	"context"
	"slices"

	"github.com/enrichd/enrichd/email"
)

// recall asks the caches about every subject of the questions at once, and notes
// what must be asked of providers. A stale value that may answer is refreshed in
// the background instead.
func (s *Service) recall(ctx context.Context, questions ...*question) {
	var keys []email.Key
	places := make(map[string]int, 2*len(questions))
	var halves []*half
	var at []int // the place of each half's key
	for _, q := range questions {
		for _, h := range []*half{&q.person, &q.company} {
			if len(h.wanted) == 0 {
				continue
			}
			place, known := places[h.key.Reveal()]
			if !known {
				place = len(keys)
				places[h.key.Reveal()] = place
				keys = append(keys, h.key)
			}
			halves, at = append(halves, h), append(at, place)
		}
	}
	if len(keys) == 0 {
		return
	}
	terms := s.terms()
	recalled := s.recallAll(ctx, keys)
	for i, h := range halves {
		known := recalled[at[i]]
		h.found = looked{record: known.Record, recalled: known.Record, tier: known.Tier}
		h.seen = known.Seen
	}
	for _, q := range questions {
		q.terms = terms
		s.consider(q, &q.person)
		s.consider(q, &q.company)
	}
}

// terms are those of the renderings, nil without any.
func (s *Service) terms() any {
	if s.Renderings == nil {
		return nil
	}
	return s.Renderings.Terms()
}

// seekBoth has providers asked for what is missing about the person and the
// company, side by side. ctx ends with the question's time budget.
func (s *Service) seekBoth(ctx context.Context, q *question) {
	if len(q.company.needs) == 0 || len(q.person.needs) == 0 {
		s.seek(ctx, q, &q.company)
		s.seek(ctx, q, &q.person)
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if recover() != nil {
				q.company.found.fail(q.company.needs, panicError())
			}
		}()
		s.seek(ctx, q, &q.company)
	}()
	s.seek(ctx, q, &q.person)
	<-done
}

// seek has what is missing about one subject asked for, joining the flight that
// is under way for it. After another caller's flight, be it one that this batch
// has seen land, the record is looked at again; what is still missing starts the
// next flight.
func (s *Service) seek(ctx context.Context, q *question, h *half) {
	if len(h.needs) == 0 {
		return
	}
	part, counts, needs := h.part, q.counting(h.found.record), h.needs
	found, shared := q.landed.about(part.key)
	for {
		if shared {
			h.found.add(needs, found, shared)
			counts = counts.Join(found.Record).Join(found.Recalled)
			needs = unfailed(s.needs(q, part, counts, 0), found)
		}
		if len(needs) == 0 {
			return
		}
		var err error
		found, shared, err = s.flights.join(ctx, part.key.Reveal(), q.lane, func(ctx context.Context, flying *flight) Found {
			found := s.find(ctx, q, &part, needs, 0, flying)
			q.landed.add(part.key, found)
			return found
		})
		if err != nil { // the caller's own time ended
			found, shared = Found{Err: outOfTime(err)}, false
		}
		if !shared {
			h.found.add(needs, found, shared)
			return
		}
	}
}

// find has the router ask providers, for all replicas once, and remembers what
// they said before anybody is answered. An erasure meanwhile leaves nothing to
// remember. What is still fresh is asked for if its remaining life is less than
// the share soon.
func (s *Service) find(ctx context.Context, q *question, part *part, needs []Need, soon float64, flying *flight) Found {
	if suppressed, err := s.suppressions().Suppressed(part.key); suppressed || err != nil {
		return Found{Err: stoppedError()}
	}
	unmet := func(known Record) []Need { return s.needs(q, part.only(needs), q.counting(known), soon) }
	known, release := s.Cache.Lease(ctx, part.key, func(known Record) bool { return len(unmet(known)) == 0 })
	defer release()
	if !known.IsEmpty() {
		needs = unmet(known)
	}
	if len(needs) == 0 {
		return Found{Recalled: known}
	}
	keep := func(record Record) {
		if !record.IsEmpty() && !flying.stopped.Load() {
			s.remember(ctx, part.key, record)
		}
	}
	found := s.Finder.Find(ctx, Ask{
		Subject:        part.subject,
		Needs:          needs,
		Account:        part.account,
		Lane:           q.lane,
		Urgency:        flying.urgency,
		Purse:          q.purse,
		IdempotencyKey: q.idempotencyKey,
		Late:           keep,
	})
	if found.UnderWay != nil {
		s.Cache.Hold(part.key, found.UnderWay) // or another replica would pay for the same
	}
	keep(found.Record)
	s.shadow(q, part, needs, found)
	found.Recalled = known
	return found
}

// unfailed leaves out the needs that failed for another caller in a way that
// would be no different for this one: whoever waited for a failed call does not
// repeat it.
func unfailed(needs []Need, found Found) []Need {
	return slices.DeleteFunc(needs, func(need Need) bool {
		switch reason, failed := found.Failed[need.Attribute]; reason {
		case ReasonOutOfTime, ReasonInFlight, ReasonMoneyCap, ReasonNotAllowed, ReasonNoToken, ReasonStopped:
			return false // the other caller's time, money, rights or lane
		default:
			return failed
		}
	})
}
