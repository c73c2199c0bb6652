package enrich

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/enrichd/enrichd/email"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a cache of the simplest kind.
type memory struct {
	mu      sync.Mutex
	records map[string]Record
	trips   int    // recalls
	brought Record // by another replica, while its lease was waited for
}

func (m *memory) RecallAll(_ context.Context, keys []email.Key) []Recalled {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trips++
	recalled := make([]Recalled, len(keys))
	for i, key := range keys {
		if record, ok := m.records[key.Reveal()]; ok {
			recalled[i] = Recalled{Record: record, Tier: MemoryTier}
		}
	}
	return recalled
}

func (m *memory) Remember(_ context.Context, key email.Key, record Record, _ time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records[key.Reveal()] = m.records[key.Reveal()].Join(record)
}

func (m *memory) Lease(ctx context.Context, key email.Key, _ func(Record) bool) (Record, func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.records[key.Reveal()].Join(m.brought), func() {}
}

func (*memory) Hold(email.Key, <-chan struct{}) {}

func (m *memory) Forget(context.Context, email.Key) error { return nil }

// finder answers with what its function says, and notes what it was asked.
type finder struct {
	mu      sync.Mutex
	asks    []Ask
	sources []string
	priced  []Attribute // have a price of their own
	find    func(context.Context, Ask) Found
}

func (f *finder) Sources(Account, Attribute) []string { return f.sources }

func (f *finder) Included(_ Account, a Attribute) []string {
	if slices.Contains(f.priced, a) {
		return nil
	}
	return f.sources
}

func (f *finder) Find(ctx context.Context, ask Ask) Found {
	f.mu.Lock()
	f.asks = append(f.asks, ask)
	f.mu.Unlock()
	return f.find(ctx, ask)
}

// asked lists the attributes of each ask about persons.
func (f *finder) asked() [][]Attribute {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all [][]Attribute
	for _, ask := range f.asks {
		var attributes []Attribute
		for _, need := range ask.Needs {
			attributes = append(attributes, need.Attribute)
		}
		all = append(all, attributes)
	}
	return all
}

// knows answers every need with a value.
func knows(_ context.Context, ask Ask) Found {
	return stating(ask, func(a Attribute) Fact {
		return Fact{State: StateValue, Value: TextValue("value of " + string(a)), Confidence: 0.9, Price: 100}
	})
}

// knowsNothing answers every need with an absence.
func knowsNothing(_ context.Context, ask Ask) Found {
	return stating(ask, func(Attribute) Fact { return Fact{State: StateAbsent} })
}

func stating(ask Ask, state func(Attribute) Fact) Found {
	var facts []Fact
	for _, need := range ask.Needs {
		for _, source := range need.Sources {
			fact := state(need.Attribute)
			fact.Attribute, fact.Source, fact.FetchedAt = need.Attribute, source, time.Now()
			facts = append(facts, fact)
		}
	}
	return Found{Record: NewRecord(facts...), Attempts: []Attempt{{Provider: "first", Outcome: Hit, Charged: KnownCharge(100)}}}
}

func throttled(readyIn time.Duration) func(context.Context, Ask) Found {
	return func(_ context.Context, ask Ask) Found {
		failed := map[Attribute]string{}
		for _, need := range ask.Needs {
			failed[need.Attribute] = ReasonPaused
		}
		return Found{Failed: failed, Err: &Error{Kind: Throttled, Offset: -1, ReadyAt: time.Now().Add(readyIn)}}
	}
}

// newService makes a service over an empty memory and the finder.
func newService(t *testing.T, find func(context.Context, Ask) Found) (*Service, *finder) {
	t.Helper()
	normalizer, err := email.New(email.Config{})
	if err != nil {
		t.Fatal(err)
	}
	finder := &finder{sources: []string{"first"}, find: find}
	service := &Service{
		Normalizer: normalizer,
		Cache:      &memory{records: map[string]Record{}},
		Finder:     finder,
		Config:     Config{}.WithDefaults(),
		Log:        slog.New(slog.DiscardHandler),
	}
	t.Cleanup(func() { _ = service.Close(context.Background()) })
	return service, finder
}

var titleOfJane = Request{Email: "Jane Doe <jane.doe@acme.example>", Wanted: []Attribute{"person.title"}}

func mustEnrich(t *testing.T, service *Service, request Request) Answer {
	t.Helper()
	answer, err := service.Enrich(t.Context(), request)
	if err != nil {
		t.Fatalf("Enrich: %v", err)
	}
	return answer
}

func TestSecondRequestComesFromTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, knows)
		first := mustEnrich(t, service, titleOfJane)
		if first.Completeness != Complete || first.Found.Of("person.title").Tier != NoTier || first.Cost != 100 {
			t.Errorf("first answer = %+v", first)
		}
		time.Sleep(29 * day)
		second := mustEnrich(t, service, titleOfJane)
		if second.Found.Of("person.title").Tier != MemoryTier || second.Cost != 0 || len(second.Attempts) != 0 {
			t.Errorf("second answer = %+v", second)
		}
		if len(finder.asks) != 1 {
			t.Errorf("the providers were asked %d times", len(finder.asks))
		}
		if first.IdempotencyKey != email.IdempotencyKey(first.Address, time.Now().Add(-29*day)) {
			t.Error("the idempotency key is not that of the address and the day")
		}
	})
}

func TestAbsenceIsRememberedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, knowsNothing)
		for range 2 {
			answer := mustEnrich(t, service, titleOfJane)
			if want := (Gap{Kind: GapAbsent, Reason: ReasonAbsent}); answer.Completeness != NotFound || answer.Gaps["person.title"] != want {
				t.Errorf("answer = %+v", answer)
			}
		}
		if len(finder.asks) != 1 {
			t.Errorf("the providers were asked %d times while the absence stands", len(finder.asks))
		}
		time.Sleep(6 * time.Hour)
		mustEnrich(t, service, titleOfJane)
		if len(finder.asks) != 2 {
			t.Errorf("the providers were asked %d times after the absence expired", len(finder.asks))
		}
	})
}

func TestFailureIsAnErrorAndNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, throttled(3*time.Second))
		_, err := service.Enrich(t.Context(), titleOfJane)
		var typed *Error
		if !errors.As(err, &typed) || typed.Kind != Throttled || time.Until(typed.ReadyAt) != 3*time.Second {
			t.Fatalf("error = %v, want throttled for 3 s", err)
		}
		finder.find = knows
		if answer := mustEnrich(t, service, titleOfJane); answer.Completeness != Complete {
			t.Errorf("after the failure: %+v", answer)
		}
	})
}

func TestPartOfAnAnswerIsAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, _ := newService(t, func(ctx context.Context, ask Ask) Found {
			if ask.Subject.Kind() == Person {
				return throttled(time.Second)(ctx, ask)
			}
			return knows(ctx, ask)
		})
		answer := mustEnrich(t, service, Request{Email: "jane@acme.example", Wanted: []Attribute{"person.title", "company.name"}})
		if want := (Gap{Kind: GapFailed, Reason: ReasonPaused}); answer.Completeness != PartlyFound || answer.Gaps["person.title"] != want {
			t.Errorf("answer = %+v", answer)
		}
	})
}

func TestPanicIsContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, _ := newService(t, func(context.Context, Ask) Found { panic("a bug") })
		_, err := service.Enrich(t.Context(), Request{Email: "jane@acme.example"})
		if typed := AsError(err); typed == nil || typed.Kind != Internal {
			t.Errorf("error = %v, want internal", err)
		}
	})
}

func TestCacheOnlyAsksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, knows)
		request := titleOfJane
		request.Cache = CacheOnly
		answer := mustEnrich(t, service, request)
		if want := (Gap{Kind: GapNotAsked, Reason: ReasonCacheOnly}); answer.Gaps["person.title"] != want || len(finder.asks) != 0 {
			t.Errorf("answer = %+v after %d asks", answer, len(finder.asks))
		}
	})
}

func TestAnswerLeavesWithinTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, _ := newService(t, func(ctx context.Context, ask Ask) Found {
			<-ctx.Done()
			return throttled(time.Minute)(ctx, ask)
		})
		request := titleOfJane
		request.Budget = time.Second
		start := time.Now()
		_, err := service.Enrich(t.Context(), request)
		if took := time.Since(start); took >= time.Second || AsError(err).Kind != Throttled {
			t.Errorf("error = %v after %s, want the router's own error in less than a second", err, took)
		}
	})
}

func TestWhoIsNotAskedAbout(t *testing.T) {
	for _, test := range []struct {
		name            string
		request         Request
		person, company string // reasons; empty: asked
	}{
		{"a person at work", Request{Email: "jane@acme.example"}, "", ""},
		{"a person at a mail provider", Request{Email: "jane.doe@gmail.com"}, "", ReasonMailProvider},
		{"a function", Request{Email: "sales@acme.example"}, ReasonRoleAddress, ""},
		{"a function that the account pays for", Request{Email: "sales@acme.example", Account: Account{RoleAddresses: true}}, "", ""},
		{"a throw-away address", Request{Email: "jane@mailinator.com"}, ReasonDisposableAddress, ReasonMailProvider},
		{"a company", Request{Domain: "https://www.acme.example/about"}, ReasonNoAddress, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			service, finder := newService(t, knows)
			test.request.Wanted = []Attribute{"person.title", "company.name"}
			answer := mustEnrich(t, service, test.request)
			for attribute, reason := range map[Attribute]string{"person.title": test.person, "company.name": test.company} {
				asked := slices.ContainsFunc(finder.asked(), func(a []Attribute) bool { return slices.Contains(a, attribute) })
				if asked != (reason == "") || answer.Gaps[attribute].Reason != reason {
					t.Errorf("%s: asked %v, gap %+v, want reason %q", attribute, asked, answer.Gaps[attribute], reason)
				}
			}
		})
	}
}

func TestPricedAttributesAreBoughtOnlyByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, knows)
		finder.priced = []Attribute{"person.mobile_phone"}
		answer := mustEnrich(t, service, Request{Email: "jane@acme.example"})
		if want := (Gap{Kind: GapNotAsked, Reason: ReasonPriced}); answer.Gaps["person.mobile_phone"] != want {
			t.Errorf("gap = %+v", answer.Gaps["person.mobile_phone"])
		}
		answer = mustEnrich(t, service, Request{Email: "jane@acme.example", Wanted: finder.priced})
		if answer.Completeness != Complete {
			t.Errorf("answer to who names it = %+v", answer)
		}
	})
}

func TestRefreshAsksAgainForWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, knows)
		mustEnrich(t, service, titleOfJane)
		time.Sleep(time.Second)
		request := titleOfJane
		request.Cache = CacheRefresh
		answer := mustEnrich(t, service, request)
		if age := time.Since(answer.Found.Of("person.title").Fact.FetchedAt); age != 0 || len(finder.asks) != 2 {
			t.Errorf("the value is %s old after %d asks", age, len(finder.asks))
		}
	})
}

func TestWhatAnotherReplicaBroughtIsNotAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, knows)
		service.Cache.(*memory).brought = NewRecord(Fact{
			Attribute: "person.title", State: StateValue, Value: TextValue("brought"), Source: "first", FetchedAt: time.Now(),
		})
		request := titleOfJane
		request.Wanted = []Attribute{"person.title", "person.city"}
		answer := mustEnrich(t, service, request)
		if title := answer.Found.Of("person.title"); title.Tier != RedisTier || title.Fact.Value.Text() != "brought" {
			t.Errorf("title = %+v", title)
		}
		if asked := finder.asked(); len(asked) != 1 || !slices.Equal(asked[0], []Attribute{"person.city"}) {
			t.Errorf("asked for %v, want the city alone", asked)
		}
	})
}

func TestBadRequestsEndBeforeAnyVendor(t *testing.T) {
	service, finder := newService(t, knows)
	onlyCompanies := Account{Attributes: AttributesOf(Company)}
	salesOnly := Account{Purposes: map[string][]Attribute{"sales": {"person.title"}}}
	for _, test := range []struct {
		name    string
		request Request
		want    Error
	}{
		{"nothing", Request{}, Error{Kind: Invalid, Field: "email", Reason: "empty", Offset: -1}},
		{"two subjects", Request{Email: "jane@acme.example", Domain: "acme.example"}, Error{Kind: Invalid, Field: "subject", Reason: "too_many", Offset: -1}},
		{"an unreadable address", Request{Email: "jane at acme"}, Error{Kind: Invalid, Field: "email", Reason: "no_at", Offset: -1}},
		{"an unreadable domain", Request{Domain: "localhost"}, Error{Kind: Invalid, Field: "domain", Reason: "domain_single_label"}},
		{"an unknown attribute", Request{Email: "jane@acme.example", Wanted: []Attribute{"person.shoe_size"}}, Error{Kind: Invalid, Field: "fields", Reason: "unknown_attribute", Offset: -1}},
		{"an attribute not allowed", Request{Email: "jane@acme.example", Account: onlyCompanies, Wanted: []Attribute{"person.title"}}, Error{Kind: Denied, Field: "fields", Reason: "attribute_not_allowed", Offset: -1}},
		{"no purpose", Request{Email: "jane@acme.example", Account: salesOnly}, Error{Kind: Invalid, Field: "purpose", Reason: "required", Offset: -1}},
		{"a purpose not allowed", Request{Email: "jane@acme.example", Account: salesOnly, Purpose: "curiosity"}, Error{Kind: Denied, Field: "purpose", Reason: "purpose_not_allowed", Offset: -1}},
		{"an attribute not allowed for the purpose", Request{Email: "jane@acme.example", Account: salesOnly, Purpose: "sales", Wanted: []Attribute{"person.city"}}, Error{Kind: Denied, Field: "fields", Reason: "attribute_not_allowed", Offset: -1}},
		{"a lane not allowed", Request{Email: "jane@acme.example", Lane: Standard, Account: Account{Lanes: []Lane{Bulk}}}, Error{Kind: Denied, Field: "lane", Reason: "lane_not_allowed", Offset: -1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := service.Enrich(t.Context(), test.request)
			got := AsError(err)
			if got == nil || got.Kind != test.want.Kind || got.Field != test.want.Field || got.Reason != test.want.Reason || got.Offset != test.want.Offset {
				t.Errorf("error = %+v, want %+v", got, test.want)
			}
		})
	}
	if len(finder.asks) != 0 {
		t.Errorf("bad requests led to %d asks", len(finder.asks))
	}
}

func TestMoneyIsSharedBetweenBothSubjects(t *testing.T) {
	purse := NewPurse(150)
	if !purse.Reserve(100) || purse.Reserve(100) || !purse.Holds(50) {
		t.Fatal("a purse of 150 must hold one reservation of 100")
	}
	purse.Settle(100, KnownCharge(20))
	if !purse.Reserve(130) || purse.Holds(1) {
		t.Error("settling must give back what was not charged")
	}
	purse.Settle(130, Charge{})
	if purse.Holds(1) {
		t.Error("an unknown charge must stay reserved")
	}
	if !(*Purse)(nil).Reserve(1 << 60) {
		t.Error("no purse means no cap")
	}
}
