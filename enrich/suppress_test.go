package enrich

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/email"
)

// list is a suppression list.
type list struct {
	mu   sync.Mutex
	keys map[string]bool
	err  error
}

func (l *list) Suppressed(key email.Key) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keys[key.Reveal()], l.err
}

func (l *list) Edition() (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint64(len(l.keys)), l.err
}

func (l *list) add(key email.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keys == nil {
		l.keys = map[string]bool{}
	}
	l.keys[key.Reveal()] = true
}

func keyOf(t *testing.T, service *Service, text string) email.Key {
	t.Helper()
	address, err := service.Normalizer.Normalize(text)
	if err != nil {
		t.Fatal(err)
	}
	return address.Key()
}

var janeAndCompany = Request{Email: "jane.doe@acme.example", Wanted: []Attribute{"person.title", "company.name"}}

func TestWhoIsSuppressedIsLookedUpNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, knows)
		suppressions := &list{}
		service.Suppressions = suppressions
		mustEnrich(t, service, titleOfJane)
		suppressions.add(keyOf(t, service, janeAndCompany.Email))
		trips := service.Cache.(*memory).trips

		answer := mustEnrich(t, service, titleOfJane)
		if want := (Gap{Kind: GapNotAsked, Reason: ReasonSuppressed}); answer.Completeness != NotFound || answer.Gaps["person.title"] != want {
			t.Errorf("answer = %+v", answer)
		}
		if service.Cache.(*memory).trips != trips || len(finder.asks) != 1 {
			t.Error("the caches or providers were asked about her")
		}
		// Her company is no person, but a vendor must not be told a hash of her
		// address with it.
		answer = mustEnrich(t, service, janeAndCompany)
		company := finder.asks[len(finder.asks)-1]
		if answer.Completeness != PartlyFound || len(finder.asks) != 2 || company.Subject.Kind() != Company {
			t.Errorf("answer = %+v", answer)
		}
		if address := answer.Address; company.IdempotencyKey == email.IdempotencyKey(address, time.Now()) {
			t.Error("the vendor was told what is made of her address")
		}
	})
}

func TestAnUnreadableSuppressionListAnswersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, knows)
		suppressions := &list{}
		service.Suppressions = suppressions
		mustEnrich(t, service, titleOfJane)
		suppressions.err = errors.New("the list is damaged")
		if _, err := service.Enrich(t.Context(), titleOfJane); AsError(err) == nil || AsError(err).Kind != Unavailable {
			t.Errorf("error = %v, want unavailable", err)
		}
		_, errs := all(t, service, []Request{titleOfJane, janeAndCompany})
		for _, err := range errs {
			if AsError(err) == nil || AsError(err).Kind != Unavailable {
				t.Errorf("error in a batch = %v, want unavailable", err)
			}
		}
		if len(finder.asks) != 1 {
			t.Errorf("%d asks", len(finder.asks))
		}
	})
}

// TestAnErasureStopsTheLookUpUnderWay erases a subject while a call about it is
// under way, whose answer comes in time or late.
func TestAnErasureStopsTheLookUpUnderWay(t *testing.T) {
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			service, finder := newService(t, func(ctx context.Context, ask Ask) Found {
				if late {
					time.AfterFunc(5*time.Second, func() { ask.Late(knows(ctx, ask).Record) })
					return throttled(0)(ctx, ask)
				}
				time.Sleep(5 * time.Second)
				return knows(ctx, ask)
			})
			suppressions := &list{}
			service.Suppressions = suppressions
			begun := time.Now()
			var callers sync.WaitGroup
			if !late {
				for range 3 {
					callers.Go(func() {
						answer := mustEnrich(t, service, titleOfJane)
						if want := (Gap{Kind: GapNotAsked, Reason: ReasonSuppressed}); answer.Gaps["person.title"] != want || time.Since(begun) > time.Second {
							t.Errorf("after %s: %+v", time.Since(begun), answer)
						}
					})
				}
			} else if _, err := service.Enrich(t.Context(), titleOfJane); err == nil {
				t.Error("nothing can have been found yet")
			}
			time.Sleep(time.Second)
			key := keyOf(t, service, janeAndCompany.Email)
			suppressions.add(key)
			if stopped := service.StopLookUps(key); stopped != map[bool]int{false: 1, true: 0}[late] {
				t.Errorf("%d look-ups were stopped", stopped)
			}
			callers.Wait()
			if err := service.Close(t.Context()); err != nil {
				t.Error(err)
			}
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if held := service.Cache.(*memory).records; len(held) != 0 || len(finder.asks) != 1 {
				t.Errorf("%d records are remembered after %d asks", len(held), len(finder.asks))
			}
		})
	}
}

// TestALookUpStoppedWithoutSuppressionIsNotRemembered stops a look-up whose
// subject may be asked about again.
func TestALookUpStoppedWithoutSuppressionIsNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, _ := newService(t, func(ctx context.Context, ask Ask) Found {
			time.Sleep(5 * time.Second)
			return knows(ctx, ask)
		})
		go func() {
			time.Sleep(time.Second)
			service.StopLookUps(keyOf(t, service, janeAndCompany.Email))
		}()
		if _, err := service.Enrich(t.Context(), titleOfJane); AsError(err) == nil || AsError(err).Kind != Unavailable {
			t.Errorf("error = %v, want unavailable", err)
		}
		if err := service.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if held := service.Cache.(*memory).records; len(held) != 0 {
			t.Errorf("%d records are remembered", len(held))
		}
	})
}

// ledger keeps audit entries.
type ledger struct {
	mu      sync.Mutex
	entries []AuditEntry
}

func (l *ledger) Audit(entry AuditEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, entry)
}

func TestEveryUnderstoodRequestIsAudited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, knows)
		audited := &ledger{}
		service.Auditor = audited
		account := Account{Name: "sales", Purposes: map[string][]Attribute{"outreach": {"person.title", "company.name"}}}
		request := janeAndCompany
		request.Account, request.Purpose, request.ID = account, "outreach", "r1"
		request.Consent = Consent{Basis: "consent", Source: "web form", CollectedAt: time.Now()}
		mustEnrich(t, service, request)

		refused := request
		refused.Purpose, refused.Wanted = "who knows", []Attribute{"person.city", "jane.doe@acme.example"}
		unreadable := request
		unreadable.Email = "no address"
		failing := request
		failing.Email = "john@globex.example"
		finder.find = func(ctx context.Context, ask Ask) Found {
			found := throttled(time.Minute)(ctx, ask)
			found.Attempts = []Attempt{{Provider: "first", Outcome: Timeout}}
			return found
		}
		all(t, service, []Request{refused, unreadable, failing})

		if len(audited.entries) != 3 {
			t.Fatalf("%d entries, want those of the three requests that were understood", len(audited.entries))
		}
		answered := audited.entries[0]
		if answered.Account != "sales" || answered.Purpose != "outreach" || answered.RequestID != "r1" || answered.Consent != request.Consent ||
			answered.Person.Reveal() != keyOf(t, service, request.Email).Reveal() || answered.Company.IsZero() ||
			!slices.Equal(answered.Wanted, []Attribute{"company.name", "person.title"}) ||
			answered.Sources["person.title"] != "first" || answered.Sources["company.name"] != "first" ||
			len(answered.Asked) != 2 || answered.Cost != 200 || answered.Outcome != "complete" {
			t.Errorf("entry = %+v", answered)
		}
		denied := audited.entries[1]
		if denied.Outcome != string(Denied) || denied.Purpose != "" || !slices.Equal(denied.Wanted, []Attribute{"person.city"}) || !denied.Person.IsZero() {
			t.Errorf("entry of the refusal = %+v", denied)
		}
		failed := audited.entries[2]
		if failed.Outcome != string(Throttled) || len(failed.Asked) != 2 || failed.Person.IsZero() {
			t.Errorf("entry of the failure = %+v", failed)
		}
	})
}

func TestAnAccountGetsWhatItMaySeeForItsPurpose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, knows)
		request := Request{Email: "jane.doe@acme.example", Purpose: "outreach", Account: Account{
			Attributes: []Attribute{"person.title", "person.city"},
			Purposes:   map[string][]Attribute{"outreach": {"person.title", "company.name"}, "any": nil},
			Lanes:      []Lane{Bulk, Standard},
		}}
		answer := mustEnrich(t, service, request)
		if len(answer.Found)+len(answer.Gaps) != 1 || answer.Found.Of("person.title").Fact.Source != "first" {
			t.Errorf("answer = %+v", answer)
		}
		if len(finder.asks) != 1 || len(finder.asks[0].Needs) != 1 || finder.asks[0].Lane != Standard {
			t.Errorf("asks = %+v", finder.asks)
		}
		request.Purpose = "any"
		if answer = mustEnrich(t, service, request); len(answer.Found) != 2 {
			t.Errorf("answer = %+v", answer)
		}
	})
}

func TestWhoIsSuppressedIsNotToldOfAgain(t *testing.T) {
	service, _ := newService(t, knows)
	suppressions := &list{}
	service.Suppressions = suppressions
	const jane, acme = "jane.doe@acme.example", "acme.example"
	suppressions.add(keyOf(t, service, jane))
	for _, test := range []struct {
		address, domain string
		may             bool
	}{{"", acme, true}, {jane, "", false}, {jane, acme, false}, {"john.roe@acme.example", acme, true}, {"", "", true}, {"no address", "", false}, {"", "no domain", false}} {
		if service.MayTell(test.address, test.domain) != test.may {
			t.Errorf("of %q and %q: %v", test.address, test.domain, !test.may)
		}
	}
	suppressions.err = errors.New("the list is away")
	if service.MayTell("", acme) {
		t.Error("told while the list cannot be read")
	}
}
