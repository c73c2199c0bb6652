package app

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/enrich"
)

// TestOperatorsStopProviders pauses one vendor and switches the other off, by the
// operators' methods and by the configuration.
func TestOperatorsStopProviders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		o := operator{parts: w.parts, isAccount: func(name string) bool { return name == config.OpenAccount }}
		health := func() (all [2]enrich.ProviderHealth) {
			states, err := o.Providers(t.Context())
			if err != nil || len(states) != 2 || states[0].Name != primary {
				t.Fatalf("providers: %v, %v", states, err)
			}
			return [2]enrich.ProviderHealth{states[0].Health, states[1].Health}
		}
		w.enrich(t, titleOf("jane.doe@acme.example", 0))
		if states, _ := o.Providers(t.Context()); states[0].Calls != 1 || states[0].HitRate != 1 || len(states[0].Limits) == 0 {
			t.Errorf("after one call: %+v", states[0])
		}
		if err := o.Pause(t.Context(), primary, "a look at the bill", time.Time{}); err != nil {
			t.Fatal(err)
		}
		stopped := worldConfig()
		stopped.Quota.Stopped.Providers = []string{secondary}
		if _, err := w.apply(stopped); err != nil {
			t.Fatal(err)
		}
		if got := health(); got != [2]enrich.ProviderHealth{enrich.ProviderPaused, enrich.ProviderSwitchedOff} {
			t.Errorf("health = %v", got)
		}
		var refused *enrich.Error
		if err := o.SetSwitch(t.Context(), enrich.Switch{Scope: enrich.SwitchProvider, Name: secondary}, false); !errors.As(err, &refused) || refused.Kind != enrich.Rejected {
			t.Errorf("taking back what the configuration throws: %v", err)
		}
		if _, err := w.service.Enrich(t.Context(), titleOf("john.roe@acme.example", time.Second)); err == nil {
			t.Error("both are stopped, and somebody was asked")
		}
		if answer := w.enrich(t, titleOf("jane.doe@acme.example", time.Second)); answer.Completeness != enrich.Complete {
			t.Errorf("what is known is not answered: %+v", answer)
		}
		if _, err := w.apply(worldConfig()); err != nil {
			t.Fatal(err)
		}
		if err := o.Resume(t.Context(), primary); err != nil {
			t.Fatal(err)
		}
		if got := health(); got != [2]enrich.ProviderHealth{enrich.ProviderReady, enrich.ProviderReady} {
			t.Errorf("health at last = %v", got)
		}
		for name, refusal := range map[string]struct {
			err   error
			field string
		}{
			"pause":      {o.Pause(t.Context(), "nobody", "", time.Time{}), "provider"},
			"resume":     {o.Resume(t.Context(), "nobody"), "provider"},
			"forget":     {o.ForgetProvider(t.Context(), "nobody"), "provider"},
			"switch":     {o.SetSwitch(t.Context(), enrich.Switch{Scope: enrich.SwitchAccount, Name: "nobody"}, true), "name"},
			"switch off": {o.SetSwitch(t.Context(), enrich.Switch{Scope: enrich.SwitchProvider, Name: "nobody"}, true), "name"},
		} {
			var typed *enrich.Error
			if !errors.As(refusal.err, &typed) || typed.Kind != enrich.Invalid || typed.Field != refusal.field {
				t.Errorf("%s of nobody: %v", name, refusal.err)
			}
		}
	})
}
