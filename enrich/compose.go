package enrich

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// looked is what a look-up brought about one subject.
type looked struct {
	record   Record // all that is known
	recalled Record // the part of it that a cache recalled
	tier     Tier   // the cache that did
	attempts []Attempt
	failed   map[Attribute]string
	err      *Error
}

// add joins what a flight found. Every need that the caller's own flight left
// unmet has a reason afterwards, so that no failure can look like an absence.
func (l *looked) add(needs []Need, found Found, shared bool) {
	l.record = l.record.Join(found.Record).Join(found.Recalled)
	if !found.Recalled.IsEmpty() {
		l.recalled = l.recalled.Join(found.Recalled)
		if l.tier == NoTier {
			l.tier = RedisTier
		}
	}
	for _, attempt := range found.Attempts {
		attempt.Shared = shared
		l.attempts = append(l.attempts, attempt)
	}
	if found.Err != nil {
		l.err = found.Err
	}
	if l.failed == nil {
		l.failed = map[Attribute]string{}
	}
	if !shared {
		for _, need := range needs {
			delete(l.failed, need.Attribute)
			if found.Err != nil && len(found.Record.About(need.Attribute)) == 0 {
				l.failed[need.Attribute] = string(found.Err.Kind)
			}
		}
	}
	maps.Copy(l.failed, found.Failed)
}

// fail notes that what is needed failed.
func (l *looked) fail(needs []Need, err *Error) {
	l.add(needs, Found{Err: err}, false)
}

// outOfTime is the error of a request whose own time ended.
func outOfTime(cause error) *Error {
	message := "the time budget ended before any provider answered; ask again with more time"
	if errors.Is(cause, context.Canceled) {
		message = "the caller left"
	}
	return &Error{Kind: OutOfTime, Message: message, Offset: -1, Cause: cause}
}

// compose builds the answer: every wanted attribute is found or has a gap. When
// nothing is found and a provider that may know failed, there is an error too,
// which says when asking again can help.
func (s *Service) compose(q *question) (Answer, error) {
	answer := Answer{
		Address:        q.address,
		Domain:         q.domain,
		Found:          make(Findings, 0, len(q.wanted)),
		Gaps:           map[Attribute]Gap{},
		IdempotencyKey: q.idempotencyKey,
	}
	for attribute, reason := range q.notAsked {
		answer.Gaps[attribute] = Gap{Kind: GapNotAsked, Reason: reason}
	}
	s.composeHalf(&answer, q, &q.company) // whose attributes are sorted first
	s.composeHalf(&answer, q, &q.person)
	deriveEmployeeRange(&answer)

	for _, h := range []*half{&q.person, &q.company} {
		answer.Attempts = append(answer.Attempts, h.found.attempts...)
		for _, attempt := range h.found.attempts {
			if !attempt.Shared {
				answer.Cost += attempt.Charged.Micros
			}
		}
	}
	switch {
	case len(answer.Found) == 0 && answer.hasFailed():
		return answer, soonest(q.person.found.err, q.company.found.err)
	case len(answer.Found) == 0:
		answer.Completeness = NotFound
	case len(answer.Gaps) > 0:
		answer.Completeness = PartlyFound
	default:
		answer.Completeness = Complete
	}
	return answer, nil
}

func (s *Service) composeHalf(answer *Answer, q *question, h *half) {
	recalled := h.found.record.is(h.found.recalled) // all of it, as mostly
	for attribute, facts := range h.found.record.along(h.wanted) {
		freshFor := q.config.Freshness.freshFor(attribute)
		best := q.best(facts, freshFor)
		if best == nil {
			answer.Gaps[attribute] = s.gap(q, h, attribute, facts)
			continue
		}
		provenance := Provenance{Fact: best, FreshUntil: best.FetchedAt.Add(freshFor)}
		if recalled || h.found.recalled.holds(best) {
			provenance.Tier = h.found.tier
		}
		answer.Found = append(answer.Found, provenance)
	}
}

// best returns the best fact that may answer of those about one attribute: a
// fresh one, or a stale one if no age was named; nil for none.
func (q *question) best(facts []Fact, freshFor time.Duration) *Fact {
	fresh := best(facts, func(fact *Fact) bool { return q.fresh(fact, freshFor, q.now) })
	if fresh != nil || q.maxAge > 0 {
		return fresh
	}
	return best(facts, q.usable)
}

// fresh tells whether a value that stays fresh for so long is fresh at a time, and
// no older than the caller accepts.
func (q *question) fresh(fact *Fact, freshFor time.Duration, at time.Time) bool {
	if q.maxAge > 0 {
		freshFor = min(freshFor, q.maxAge)
	}
	return fact.State == StateValue && at.Before(fact.FetchedAt.Add(freshFor))
}

// usable tells whether a value may answer, a stale one included.
func (q *question) usable(fact *Fact) bool {
	return fact.State == StateValue && q.now.Before(q.config.Freshness.keepUntil(fact))
}

// gap says why an attribute without a usable value is missing.
func (s *Service) gap(q *question, h *half, attribute Attribute, facts []Fact) Gap {
	if reason, failed := h.found.failed[attribute]; failed {
		return Gap{Kind: GapFailed, Reason: reason}
	}
	sources := s.sources(q, &h.part, attribute)
	if len(sources) == 0 {
		reason := ReasonNoSource
		if len(s.Finder.Sources(h.account, attribute)) > 0 {
			reason = ReasonPriced
		}
		return Gap{Kind: GapNotAsked, Reason: reason}
	}
	if q.cache == CacheOnly {
		if _, open := q.config.Freshness.need(attribute, facts, sources, q.now); open {
			return Gap{Kind: GapNotAsked, Reason: ReasonCacheOnly}
		}
	}
	if slices.ContainsFunc(facts, func(fact Fact) bool { return fact.State == StateSuppressed }) {
		return Gap{Kind: GapAbsent, Reason: ReasonSuppressed}
	}
	return Gap{Kind: GapAbsent, Reason: ReasonAbsent}
}

// hasFailed tells whether a provider that may know what is missing failed.
func (a *Answer) hasFailed() bool {
	for _, gap := range a.Gaps {
		if gap.Kind == GapFailed {
			return true
		}
	}
	return false
}

// soonest is the error that tells the caller to come back first: one that a
// wait helps before one that it does not.
func soonest(a, b *Error) *Error {
	switch {
	case a == nil && b == nil:
		return &Error{Kind: Unavailable, Message: "the providers that may know failed; ask again later", Offset: -1}
	case a == nil:
		return b
	case b == nil:
		return a
	case b.ReadyAt.IsZero():
		return a
	case a.ReadyAt.IsZero() || b.ReadyAt.Before(a.ReadyAt):
		return b
	default:
		return a
	}
}

// deriveEmployeeRange takes the range from the exact count whenever that is
// known: it wins over what a vendor says of the range.
func deriveEmployeeRange(answer *Answer) {
	const count, span = Attribute("company.employee_count"), Attribute("company.employee_range")
	known := answer.Found.Of(count)
	_, missing := answer.Gaps[span]
	if known.Fact.State != StateValue || !missing && answer.Found.Of(span).Fact.State != StateValue {
		return
	}
	derived := *known.Fact
	derived.Attribute, derived.Price = span, 0
	derived.Value = WordValue(EmployeeRange(derived.Value.Number()))
	known.Fact = &derived
	answer.Found = answer.Found.With(known)
	delete(answer.Gaps, span)
}

// EmployeeRange returns the word of the contract's range that holds a number of
// people, or "" below 1.
func EmployeeRange(people int64) string {
	spec, _ := SpecOf("company.employee_range")
	for _, word := range spec.Words {
		low, high, bounded := strings.Cut(word, "-")
		least, _ := strconv.ParseInt(strings.TrimSuffix(low, "+"), 10, 64)
		most, _ := strconv.ParseInt(high, 10, 64)
		if people >= least && (!bounded || people <= most) {
			return word
		}
	}
	return ""
}
