package enrich

import (
	"context"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/enrichd/enrichd/email"
)

// Service answers requests. Its fields are set before the first use and not
// changed afterwards; it is safe for concurrent use.
type Service struct {
	// Normalizer reads addresses and domains.
	Normalizer *email.Normalizer
	// Cache recalls what was found before.
	Cache Recall
	// Finder asks providers for the rest.
	Finder Finder
	// Config is obeyed; its defaults must be set.
	Config Config
	// Log receives what callers cannot be told.
	Log *slog.Logger

	flights   flights
	refreshes refreshes
}

// Enrich answers one request. The error is an [Error]; "the vendors do not
// know" is an answer, and so is a part of what was wanted.
func (s *Service) Enrich(ctx context.Context, request Request) (Answer, error) {
	ctx, span := tracer.Start(ctx, "enrich")
	defer span.End()

	question, err := s.understand(ctx, request)
	if err != nil {
		return Answer{}, failed(span, err)
	}
	ctx, cancel := context.WithTimeout(ctx, question.budget)
	defer cancel()

	person, company := s.lookBoth(ctx, question)
	answer, err := s.compose(question, person, company)
	if err != nil {
		return Answer{}, failed(span, err)
	}
	span.SetAttributes(attribute.String("outcome", answer.Completeness.String()))
	return answer, nil
}

// Close lets no refresh begin any more and waits until the look-ups under way
// have ended, or ctx has.
func (s *Service) Close(ctx context.Context) error {
	s.refreshes.close()
	return s.flights.wait(ctx)
}

// lookBoth looks up the person and the company side by side.
func (s *Service) lookBoth(ctx context.Context, question question) (person, company looked) {
	if len(question.company.wanted) == 0 {
		return s.look(ctx, question, question.person), looked{}
	}
	found := make(chan looked, 1)
	go func() {
		defer func() {
			if recover() != nil {
				found <- looked{err: panicError()}
			}
		}()
		found <- s.look(ctx, question, question.company)
	}()
	person = s.look(ctx, question, question.person)
	return person, <-found
}

// look finds what is wanted about one subject: it recalls the record, answers
// from it as far as it goes, and has the rest asked for, joining the flight
// that is under way for the subject. After another caller's flight the record
// is looked at again; what is still missing starts the next flight.
func (s *Service) look(ctx context.Context, question question, part part) looked {
	if len(part.wanted) == 0 {
		return looked{}
	}
	key := part.subject.Key()
	recalled, tier := s.recall(ctx, key)
	result := looked{record: recalled, recalled: recalled, tier: tier}

	counts := question.counting(recalled)
	needs := s.needs(question, part, counts)
	if question.cache == CacheOnly || len(needs) == 0 {
		return result
	}
	if s.staleAnswers(question, needs, counts) {
		s.refreshInBackground(question, part, needs)
		return result
	}
	for len(needs) > 0 {
		found, shared, err := s.flights.join(ctx, key.Reveal(), func(ctx context.Context) Found {
			return s.find(ctx, question, part, needs)
		})
		if err != nil { // the caller's own time ended
			found, shared = Found{Err: outOfTime(err)}, false
		}
		result.add(needs, found, shared)
		if !shared {
			return result
		}
		counts = counts.Join(found.Record).Join(found.Recalled)
		needs = unfailed(s.needs(question, part, counts), found)
	}
	return result
}

// find has the router ask providers, for all replicas once, and remembers what
// they said before anybody is answered.
func (s *Service) find(ctx context.Context, question question, part part, needs []Need) Found {
	key := part.subject.Key()
	unmet := func(known Record) []Need { return s.needs(question, part.only(needs), question.counting(known)) }
	known, release := s.Cache.Lease(ctx, key, func(known Record) bool { return len(unmet(known)) == 0 })
	defer release()
	if needs = unmet(known); len(needs) == 0 {
		return Found{Recalled: known}
	}
	found := s.Finder.Find(ctx, Ask{
		Subject:        part.subject,
		Needs:          needs,
		Account:        question.account,
		Lane:           question.lane,
		Purse:          question.purse,
		IdempotencyKey: question.idempotencyKey,
		Late:           func(record Record) { s.remember(ctx, key, record) },
	})
	if !found.Record.IsEmpty() {
		s.remember(ctx, key, found.Record)
	}
	found.Recalled = known
	return found
}

// unfailed leaves out the needs that failed for another caller in a way that
// would be no different for this one: whoever waited for a failed call does not
// repeat it.
func unfailed(needs []Need, found Found) []Need {
	return slices.DeleteFunc(needs, func(need Need) bool {
		switch reason, failed := found.Failed[need.Attribute]; reason {
		case ReasonOutOfTime, ReasonInFlight, ReasonMoneyCap, ReasonNotAllowed, ReasonNoToken:
			return false // the other caller's time, money, rights or lane
		default:
			return failed
		}
	})
}

// needs lists what must be asked for, given the facts that count.
func (s *Service) needs(question question, part part, counts Record) []Need {
	var needs []Need
	for _, attribute := range part.wanted {
		sources := s.sources(question, attribute)
		if need, missing := s.Config.Freshness.need(counts, attribute, sources, question.now, question.maxAge); missing {
			needs = append(needs, need)
		}
	}
	return needs
}

// sources lists the providers that may be asked for an attribute. Without being
// named, an attribute is not bought where it has a price of its own.
func (s *Service) sources(question question, attribute Attribute) []string {
	if question.named {
		return s.Finder.Sources(question.account, attribute)
	}
	return s.Finder.Included(question.account, attribute)
}
