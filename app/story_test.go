package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/providers/fakevendor"
	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

const (
	primary   = "peopledatalabs"
	secondary = "hunter"
)

// world is the whole service behind the edge, with fake vendors at the end of
// pipes. It lives inside a synctest bubble.
type world struct {
	*parts
	vendors *fakevendor.Server
}

// newWorld builds the service over fake vendors that know everything they can.
func newWorld(t *testing.T) *world {
	t.Helper()
	vendors, err := fakevendor.New(fakevendor.Config{Seed: 1, Vendors: map[string]fakevendor.Vendor{
		primary:   {Data: &fakevendor.Data{}},
		secondary: {Data: &fakevendor.Data{}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	pipe := fakevendor.NewPipe()
	serving, stopServing := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- vendors.Serve(serving, pipe) }()

	built, err := newParts(t.Context(), worldConfig(), slog.New(slog.DiscardHandler), pipe.DialContext)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(built.service.Close(context.Background()), built.close(context.Background())); err != nil {
			t.Error(err)
		}
		stopServing()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return &world{parts: built, vendors: vendors}
}

// worldConfig is the configuration of a world.
func worldConfig() config.Config {
	return config.Config{Providers: providers.Config{List: []providers.ProviderConfig{
		{Definition: primary, BaseURL: "http://127.0.0.1:1/" + primary, AllowPrivate: true, Credentials: map[string]string{"api_key": "k"}},
		{Definition: secondary, BaseURL: "http://127.0.0.1:1/" + secondary, AllowPrivate: true, Credentials: map[string]string{"api_key": "k"}},
	}}}
}

// strike makes a vendor misbehave from now on.
func (w *world) strike(t *testing.T, vendor string, rules ...fakevendor.Fault) {
	t.Helper()
	if err := w.vendors.SetFaults(vendor, fakevendor.Faults{Rules: rules}); err != nil {
		t.Fatal(err)
	}
}

// titleOf asks for the title of a person.
func titleOf(email string, budget time.Duration) enrich.Request {
	return enrich.Request{Email: email, Wanted: []enrich.Attribute{"person.title"}, Budget: budget}
}

func (w *world) enrich(t *testing.T, request enrich.Request) enrich.Answer {
	t.Helper()
	answer, err := w.service.Enrich(t.Context(), request)
	if err != nil {
		t.Fatalf("Enrich: %v", err)
	}
	return answer
}

func (w *world) calls(vendor string) int64 { return w.vendors.Summary(vendor).Calls }

// TestNextProviderStandsIn has the primary do what vendors do on a bad day. Each
// time the secondary must answer within the budget, and nothing may be made of
// what the primary sent.
func TestNextProviderStandsIn(t *testing.T) {
	for name, test := range map[string]struct {
		fault fakevendor.Fault
		want  enrich.Outcome // of the primary's first attempt
	}{
		"closes without an answer": {fakevendor.Fault{Kind: fakevendor.Outage}, enrich.Temporary},
		"answers 503":              {fakevendor.Fault{Kind: fakevendor.Outage, Status: 503}, enrich.Temporary},
		"hangs":                    {fakevendor.Fault{Kind: fakevendor.Hang}, enrich.Timeout},
		"drips":                    {fakevendor.Fault{Kind: fakevendor.Drip, Hold: 5 * time.Minute}, enrich.Timeout},
		"closes early":             {fakevendor.Fault{Kind: fakevendor.EarlyClose}, enrich.Malformed},
		"sends half a JSON":        {fakevendor.Fault{Kind: fakevendor.Truncated}, enrich.Malformed},
		"sends broken JSON":        {fakevendor.Fault{Kind: fakevendor.Malformed}, enrich.Malformed},
		"sends HTML":               {fakevendor.Fault{Kind: fakevendor.HTML}, enrich.Malformed},
		"sends 10 MB":              {fakevendor.Fault{Kind: fakevendor.Huge}, enrich.Malformed},
		"sends a gzip bomb":        {fakevendor.Fault{Kind: fakevendor.GzipBomb}, enrich.Malformed},
		"redirects elsewhere":      {fakevendor.Fault{Kind: fakevendor.Redirect, Location: "http://elsewhere.example/"}, enrich.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.strike(t, primary, test.fault)
				start := time.Now()
				answer := w.enrich(t, titleOf("jane.doe@acme.example", 20*time.Second))
				if took := time.Since(start); took >= 20*time.Second {
					t.Errorf("the answer took %s", took)
				}
				if by := answer.Found.Of("person.title").Fact.Source; by != secondary {
					t.Errorf("answered by %q, want the secondary", by)
				}
				if first := answer.Attempts[0]; first.Provider != primary || first.Outcome != test.want {
					t.Errorf("first attempt = %s at %s, want %s at the primary", first.Outcome, first.Provider, test.want)
				}
			})
		})
	}
}

func TestHintOfThePrimaryIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		// For two seconds every call is refused with a Retry-After of 2.
		w.strike(t, primary, fakevendor.Fault{Kind: fakevendor.Storm, Until: 2 * time.Second})
		if err := w.vendors.SetLimits(primary, fakevendor.Limits{Hint: fakevendor.Hint{Form: "seconds", WrongBy: 2 * time.Second}}); err != nil {
			t.Fatal(err)
		}
		start := time.Now()

		// With one second there is no time to wait: the secondary is asked at
		// once.
		answer := w.enrich(t, titleOf("jane.doe@acme.example", time.Second))
		if by := answer.Found.Of("person.title").Fact.Source; by != secondary || time.Since(start) > 100*time.Millisecond {
			t.Errorf("answered by %q after %s, want the secondary at once", by, time.Since(start))
		}
		// Until the hint has passed nobody calls the primary.
		for range 15 {
			time.Sleep(100 * time.Millisecond)
			w.enrich(t, titleOf("john.roe@acme.example", time.Second))
		}
		if calls := w.calls(primary); calls != 1 {
			t.Errorf("the primary was called %d times within its 2 s", calls)
		}
		time.Sleep(time.Second)
		answer = w.enrich(t, titleOf("mary.poe@acme.example", time.Second))
		if by := answer.Found.Of("person.title").Fact.Source; by != primary {
			t.Errorf("answered by %q after the hint passed, want the primary", by)
		}
	})
}

func TestNobodyPaysTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.enrich(t, enrich.Request{Email: "jane.doe@acme.example"})
		before := w.calls(primary) + w.calls(secondary)
		answer := w.enrich(t, enrich.Request{Email: "Jane Doe <JANE.DOE@acme.example>"})
		if calls := w.calls(primary) + w.calls(secondary); calls != before || answer.Cost != 0 {
			t.Errorf("%d further calls costing %d", calls-before, answer.Cost)
		}
		for _, found := range answer.Found {
			if attribute := found.Fact.Attribute; found.Tier != enrich.MemoryTier && attribute != "company.employee_range" {
				t.Errorf("%s comes from %q", attribute, found.Tier)
			}
		}
	})
}

// TestLateAnswerIsRemembered gives vendors too little time: what they answer
// after the caller was told so is paid for, and answers the next question.
func TestLateAnswerIsRemembered(t *testing.T) {
	slow := fakevendor.Fault{Kind: fakevendor.Brownout, Share: 1e-9, Latency: fakevendor.Latency{Median: 3 * time.Second}}
	for name, given := range map[string]struct{ budget, leaves time.Duration }{
		"the budget ends":   {budget: time.Second, leaves: time.Minute},
		"the caller leaves": {budget: time.Minute, leaves: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.strike(t, primary, slow)
				w.strike(t, secondary, slow)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				time.AfterFunc(given.leaves, leave)
				if _, err := w.service.Enrich(ctx, titleOf("jane.doe@acme.example", given.budget)); err == nil {
					t.Fatal("vendors that take 3 s answered within one")
				}
				time.Sleep(10 * time.Second)
				before := w.calls(primary) + w.calls(secondary)
				answer := w.enrich(t, titleOf("jane.doe@acme.example", time.Second))
				if found := answer.Found.Of("person.title"); found.Fact.Source != primary || found.Tier != enrich.MemoryTier || answer.Cost != 0 {
					t.Errorf("answer = %+v, want the primary's from memory", answer)
				}
				if calls := w.calls(primary) + w.calls(secondary); calls != before {
					t.Errorf("%d further calls", calls-before)
				}
			})
		})
	}
}

func TestAMissOfBothIsRememberedAndAFailureIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, vendor := range []string{primary, secondary} {
			if err := w.vendors.SetData(vendor, fakevendor.Data{Knowledge: truth.Knowledge{Miss: 1}}); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if answer := w.enrich(t, titleOf("jane.doe@acme.example", 0)); answer.Completeness != enrich.NotFound {
				t.Errorf("answer = %+v", answer)
			}
		}
		if calls := w.calls(primary) + w.calls(secondary); calls != 2 {
			t.Errorf("%d calls for two questions that both vendors miss, want 2", calls)
		}

		w.strike(t, primary, fakevendor.Fault{Kind: fakevendor.Outage, Status: 503})
		w.strike(t, secondary, fakevendor.Fault{Kind: fakevendor.Outage, Status: 503})
		if _, err := w.service.Enrich(t.Context(), titleOf("john.roe@acme.example", 5*time.Second)); err == nil {
			t.Fatal("an outage of both is no answer")
		}
		w.strike(t, primary)
		for _, vendor := range []string{primary, secondary} {
			if err := w.vendors.SetData(vendor, fakevendor.Data{}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if answer := w.enrich(t, titleOf("john.roe@acme.example", 0)); answer.Completeness != enrich.Complete {
			t.Errorf("after the outage: %+v", answer)
		}
	})
}

func TestOneOutageManyCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.strike(t, primary, fakevendor.Fault{Kind: fakevendor.Outage, Status: 503})
		for i := range 40 {
			w.enrich(t, titleOf(string(rune('a'+i%26))+string(rune('a'+i/26))+".doe@acme.example", 20*time.Second))
		}
		if calls := w.calls(primary); calls > 12 {
			t.Errorf("the failing primary was called %d times for 40 leads: its breaker did not open", calls)
		}
	})
}
