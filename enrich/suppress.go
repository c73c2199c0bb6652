package enrich

import "github.com/enrichd/enrichd/email"

// suppressions are those of the service, none if it has none.
func (s *Service) suppressions() Suppressions {
	if s.Suppressions == nil {
		return NoSuppressions{}
	}
	return s.Suppressions
}

// suppress leaves the subjects out that must not be looked up, with all that was
// found about them. It fails closed: when it cannot be told who they are, there
// is no answer.
func (s *Service) suppress(q *question) error {
	for _, h := range []*half{&q.person, &q.company} {
		if h.key.IsZero() {
			continue
		}
		suppressed, err := s.suppressions().Suppressed(h.key)
		if err != nil {
			return &Error{Kind: Unavailable, Message: "the suppression list cannot be read, so nothing is looked up; ask again later", Offset: -1, Cause: err}
		}
		if !suppressed {
			continue
		}
		for _, attribute := range h.wanted {
			q.notAsked[attribute] = ReasonSuppressed
		}
		// What was paid for is told all the same.
		h.wanted, h.needs, h.found = nil, nil, looked{attempts: h.found.attempts}
		h.suppressed = true
	}
	return nil
}

// MayTell tells whether an answer that was given before may be given again: not
// when the person or the company that it tells of, "" for none, was suppressed
// since, and not when that cannot be told.
func (s *Service) MayTell(address, domain string) bool {
	var keys []email.Key
	if address != "" {
		person, err := s.Normalizer.Normalize(address)
		if err != nil {
			return false
		}
		keys = append(keys, person.Key())
	}
	if domain != "" {
		company, err := s.Normalizer.NormalizeDomain(domain)
		if err != nil {
			return false
		}
		keys = append(keys, company.Key())
	}
	for _, key := range keys {
		if suppressed, err := s.suppressions().Suppressed(key); err != nil || suppressed {
			return false
		}
	}
	return true
}

// StopLookUps ends the look-up under way about a subject, and tells how many
// there were. Who waits for it gets nothing of it, and what it still brings is
// dropped. Call it after the subject was suppressed and forgotten, so that no
// look-up begins any more and what was remembered meanwhile is erased.
func (s *Service) StopLookUps(key email.Key) int {
	if s.flights.stop(key.Reveal()) {
		return 1
	}
	return 0
}
