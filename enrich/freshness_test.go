package enrich

import (
	"slices"
	"testing"
	"time"
)

func TestNeed(t *testing.T) {
	const title = Attribute("person.title") // fresh for 30 days
	now := time.UnixMilli(1_800_000_000_000)
	ago := func(d time.Duration, state State, source string) Fact {
		return Fact{Attribute: title, State: state, Source: source, FetchedAt: now.Add(-d), Value: TextValue("x")}
	}
	both := []string{"a", "b"}
	for _, test := range []struct {
		name    string
		facts   []Fact
		sources []string
		maxAge  time.Duration
		want    []string // nil: no need
	}{
		{"nothing is known", nil, both, 0, both},
		{"no provider supplies it", nil, nil, 0, nil},
		{"a fresh value", []Fact{ago(29*day, StateValue, "a")}, both, 0, nil},
		{"a value of a source that is gone", []Fact{ago(29*day, StateValue, "z")}, both, 0, nil},
		{"a value no longer fresh", []Fact{ago(30*day, StateValue, "a")}, both, 0, both},
		{"a value older than accepted", []Fact{ago(2*time.Hour, StateValue, "a")}, both, time.Hour, both},
		{"absent at one", []Fact{ago(23*time.Hour, StateAbsent, "a")}, both, 0, []string{"b"}},
		{"absent at one, long ago", []Fact{ago(25*time.Hour, StateAbsent, "a")}, both, 0, both},
		{"absent everywhere", []Fact{ago(5*time.Hour, StateAbsent, "a"), ago(5*time.Hour, StateAbsent, "b")}, both, 0, nil},
		{"absent everywhere, the first longer ago", []Fact{ago(20*time.Hour, StateAbsent, "a"), ago(5*time.Hour, StateAbsent, "b")}, both, 0, nil},
		{"absent everywhere, expired", []Fact{ago(7*time.Hour, StateAbsent, "a"), ago(7*time.Hour, StateAbsent, "b")}, both, 0, both},
		{"absent at all but a new source", []Fact{ago(time.Hour, StateAbsent, "a"), ago(time.Hour, StateAbsent, "b")}, []string{"a", "b", "c"}, 0, []string{"c"}},
		{"absent at a source the account may not ask", []Fact{ago(time.Hour, StateAbsent, "c")}, both, 0, both},
		{"suppressed at one", []Fact{ago(20*day, StateSuppressed, "a")}, both, 0, []string{"b"}},
		{"suppressed at one, long ago", []Fact{ago(31*day, StateSuppressed, "a")}, both, 0, both},
		{"suppressed at one, absent at the other", []Fact{ago(20*day, StateSuppressed, "a"), ago(time.Hour, StateAbsent, "b")}, both, 0, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			service := &Service{Finder: &finder{sources: test.sources}}
			q := &question{config: &Config{Freshness: Freshness{}.WithDefaults()}, now: now, maxAge: test.maxAge}
			needs := service.needs(q, part{wanted: []Attribute{title}}, NewRecord(test.facts...), 0)
			if len(needs) > 1 || (len(needs) == 1) != (test.want != nil) || test.want != nil && !slices.Equal(needs[0].Sources, test.want) {
				t.Errorf("needs = %v; want %v", needs, test.want)
			}
		})
	}
}

// TestNeedsChangeAtKnownMoments alone: until then an answer that was sent may be
// sent again.
func TestNeedsChangeAtKnownMoments(t *testing.T) {
	const title = Attribute("person.title")
	at, freshness := time.UnixMilli(1_800_000_000_000), Freshness{}.WithDefaults()
	service, config := &Service{Finder: &finder{sources: []string{"a", "b"}}}, &Config{Freshness: freshness}
	for _, states := range [][2]State{
		{StateValue, StateAbsent}, {StateAbsent, StateAbsent}, {StateAbsent, StateSuppressed},
		{StateSuppressed, StateAbsent}, {StateSuppressed, StateSuppressed},
	} {
		facts := []Fact{
			{Attribute: title, State: states[0], Source: "a", FetchedAt: at, Value: TextValue("x")},
			{Attribute: title, State: states[1], Source: "b", FetchedAt: at.Add(time.Hour)},
		}
		needs := func(now time.Time) int {
			q := &question{config: config, now: now}
			count := 0
			for _, need := range service.needs(q, part{wanted: []Attribute{title}}, NewRecord(facts...), 0) {
				count += len(need.Sources)
			}
			return count
		}
		known := map[time.Time]bool{}
		for i := range facts {
			for _, moment := range freshness.changes(&facts[i], 0) {
				known[moment] = true
			}
		}
		for now, last := at, needs(at); now.Before(at.Add(32 * day)); now = now.Add(time.Hour) {
			next := needs(now)
			if next != last && !known[now] {
				t.Errorf("%v: %s after the first fact %d are asked instead of %d", states, now.Sub(at), next, last)
			}
			last = next
		}
	}
}

func TestKeepUntilCoversEveryUse(t *testing.T) {
	at := time.UnixMilli(1_800_000_000_000)
	freshness := Freshness{}.WithDefaults()
	record := NewRecord(
		Fact{Attribute: "person.email_status", State: StateValue, Value: WordValue("valid"), Source: "a", FetchedAt: at},
		Fact{Attribute: "person.title", State: StateAbsent, Source: "a", FetchedAt: at},
	)
	if until := freshness.KeepUntil(record); !until.Equal(at.Add(7*day + 7*day)) {
		t.Errorf("KeepUntil = %s after the facts, want freshness and staleness of the longest", until.Sub(at))
	}
}

func TestConfigValidate(t *testing.T) {
	if problems := (Config{}).Validate(); problems != nil {
		t.Errorf("the zero value is refused: %v", problems)
	}
	problems := Config{RetryBudget: -1, Freshness: Freshness{Attributes: map[Attribute]time.Duration{"person.shoe_size": day, "person.title": -1}}}.Validate()
	if len(problems) != 3 {
		t.Errorf("Validate = %v, want all three problems", problems)
	}
}
