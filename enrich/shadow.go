package enrich

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Difference is how what a shadow plan found compares with what the account's
// own plan did, for one attribute.
type Difference string

// The differences.
const (
	SameAnswer      Difference = "same"         // the same value, or none with either
	DifferentAnswer Difference = "different"    // two values
	OnlyOld         Difference = "only_old"     // the account's own plan alone has a value
	OnlyNew         Difference = "only_new"     // the shadow plan alone has a value
	NotCompared     Difference = "not_compared" // a provider failed with either, or the cap was reached
)

// Comparison counts how often a shadow plan did so.
type Comparison struct {
	Account    string
	Plan       string
	Attribute  Attribute
	Difference Difference
	Count      int64
}

const (
	// mostShadows is how many look-ups of shadow plans may be under way at once.
	// One more is left out.
	mostShadows = 64
	// sampleEvery is which of equal differences are logged, after the first.
	sampleEvery = 100
)

// shadows are the look-ups of shadow plans.
type shadows struct {
	mu     sync.Mutex
	under  int
	purses map[string]*dayPurse // by account
	counts map[Comparison]int64 // by all but the Count
}

// dayPurse is what one account's shadow plan may spend on one day.
type dayPurse struct {
	*Purse
	day    string
	amount Micros
}

// Comparisons lists how shadow plans did so far.
func (s *Service) Comparisons() []Comparison {
	s.shadows.mu.Lock()
	defer s.shadows.mu.Unlock()
	var all []Comparison
	for of, count := range s.shadows.counts {
		of.Count = count
		all = append(all, of)
	}
	slices.SortFunc(all, func(a, b Comparison) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Plan, b.Plan),
			cmp.Compare(a.Attribute, b.Attribute), cmp.Compare(a.Difference, b.Difference))
	})
	return all
}

// shadow has the account's shadow plan asked in the background for what its own
// plan has just been asked for, and compares. What it finds is neither remembered
// nor answered.
func (s *Service) shadow(q *question, part *part, needs []Need, old Found) {
	if plan := part.account.Shadow.Plan; plan != "" {
		shadowed := *part
		shadowed.account.Plan = plan
		s.beginShadow(q, &shadowed, needs, old)
	}
}

func (s *Service) beginShadow(q *question, part *part, needs []Need, old Found) {
	purse, ok := s.shadows.begin(part.account, time.Now())
	if !ok {
		return
	}
	began := s.flights.background(func() {
		defer s.shadows.end()
		ctx, cancel := context.WithTimeout(context.Background(), q.config.RetryBudget)
		defer cancel()
		found := contained(ctx, nil, func(ctx context.Context, _ *flight) Found {
			return s.findShadow(ctx, q, part, needs, purse)
		})
		for _, need := range needs {
			s.compared(q, part.account, need.Attribute, old, found)
		}
	})
	if !began {
		s.shadows.end()
	}
}

func (s *Service) findShadow(ctx context.Context, q *question, part *part, needs []Need, purse *Purse) Found {
	if suppressed, err := s.suppressions().Suppressed(part.key); suppressed || err != nil {
		return Found{Err: stoppedError()}
	}
	var asked []Need
	for _, need := range needs {
		if sources := s.sources(q, part, need.Attribute); len(sources) > 0 {
			asked = append(asked, Need{Attribute: need.Attribute, Sources: sources})
		}
	}
	if len(asked) == 0 {
		return Found{}
	}
	return s.Finder.Find(ctx, Ask{
		Subject:        part.subject,
		Needs:          asked,
		Account:        part.account,
		Lane:           Bulk,
		Purse:          purse,
		IdempotencyKey: q.idempotencyKey,
	})
}

// compared counts how both plans did and logs some of the differences, without
// what was found.
func (s *Service) compared(q *question, account Account, attribute Attribute, old, found Found) {
	difference := compare(attribute, old, found)
	if count := s.shadows.count(Comparison{Account: account.Name, Plan: account.Plan, Attribute: attribute, Difference: difference}); difference != SameAnswer && count%sampleEvery == 1 {
		s.Log.LogAttrs(context.Background(), slog.LevelInfo, "a shadow plan differs", slog.String("account", account.Name), slog.String("plan", account.Plan),
			slog.String("attribute", string(attribute)), slog.String("difference", string(difference)), slog.String("request_id", q.id), slog.Int64("count", count))
	}
}

func compare(attribute Attribute, old, found Found) Difference {
	isValue := func(fact Fact) bool { return fact.State == StateValue }
	was, hadValue := old.Record.Best(attribute, isValue)
	is, hasValue := found.Record.Best(attribute, isValue)
	switch {
	case !hadValue && old.failed(attribute), !hasValue && found.failed(attribute):
		return NotCompared
	case hadValue && hasValue && !was.Value.Equal(is.Value):
		return DifferentAnswer
	case hadValue && !hasValue:
		return OnlyOld
	case hasValue && !hadValue:
		return OnlyNew
	default:
		return SameAnswer
	}
}

// failed tells whether a provider failed that may know the attribute.
func (f Found) failed(attribute Attribute) bool {
	_, failed := f.Failed[attribute]
	return failed || f.Err != nil && len(f.Record.About(attribute)) == 0
}

// begin returns the purse of the account's shadow plan for the day; false when
// too many are under way.
func (s *shadows) begin(account Account, now time.Time) (*Purse, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.under == mostShadows {
		return nil, false
	}
	s.under++
	day, amount := now.UTC().Format(time.DateOnly), account.Shadow.DayCap
	purse := s.purses[account.Name]
	switch {
	case purse == nil || purse.day != day:
		if s.purses == nil {
			s.purses = map[string]*dayPurse{}
		}
		purse = &dayPurse{NewPurse(amount), day, amount}
		s.purses[account.Name] = purse
	case purse.amount != amount:
		purse.add(amount - purse.amount)
		purse.amount = amount
	}
	return purse.Purse, true
}

func (s *shadows) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under--
}

func (s *shadows) count(of Comparison) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[Comparison]int64{}
	}
	s.counts[of]++
	return s.counts[of]
}
