package accounts

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/enrichd/enrichd/enrich"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustHash(t testing.TB, key string) string {
	t.Helper()
	hash, err := HashKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func mustRegistry(t testing.TB, config Config) *Registry {
	t.Helper()
	registry, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

func TestACallerIsWhatTheConfigurationSays(t *testing.T) {
	key := NewKey()
	registry := mustRegistry(t, Config{List: []Account{{
		Name: "sales", Keys: []Key{{Hash: mustHash(t, key)}}, Admin: true, Rate: Rate{Requests: 9},
		Weight: 3, Lanes: []enrich.Lane{enrich.Bulk}, Attributes: []enrich.Attribute{"person.title", "company.name"},
		Providers: []string{"alpha"}, RoleAddresses: true,
		Purposes: map[string][]enrich.Attribute{"outreach": {"person.title"}, "research": nil},
		Plan:     "careful", Trial: Trial{Plan: "bold", Percent: 5}, Shadow: Shadow{Plan: "new", DayCap: 7},
	}, {Name: "ops"}, {Name: "halted", Paused: true, Providers: []string{"alpha"}}}})
	caller, known := registry.ByKey(key)
	if !known {
		t.Fatal("the key is not known")
	}
	a := caller.Account
	if a.Name != "sales" || a.Weight != 3 || !slices.Equal(a.Lanes, []enrich.Lane{enrich.Bulk}) || len(a.Attributes) != 2 ||
		!slices.Equal(a.Providers, []string{"alpha"}) || !a.RoleAddresses || a.DisposableAddresses || len(a.Purposes) != 2 ||
		a.Plan != "careful" || a.Trial != (enrich.Trial{Plan: "bold", Percent: 5}) || a.Shadow != (enrich.Shadow{Plan: "new", DayCap: 7}) ||
		!caller.Admin || caller.Rate != (Rate{Requests: 9, Window: time.Minute}) {
		t.Errorf("the caller is %+v", caller)
	}
	if ops, known := registry.ByAccount("ops"); !known || ops.Admin || ops.Account.Weight != 1 || ops.Account.Providers != nil {
		t.Errorf("ops is %+v", ops)
	}
	if halted, _ := registry.ByAccount("halted"); halted.Account.Providers == nil || len(halted.Account.Providers) != 0 {
		t.Errorf("a paused account may ask %v", halted.Account.Providers)
	}
	if _, known := registry.ByAccount("nobody"); known {
		t.Error("there is an account nobody")
	}
}

// TestRefusalsAreAlike checks that a caller cannot tell why its key is refused.
func TestRefusalsAreAlike(t *testing.T) {
	good, over := NewKey(), NewKey()
	registry := mustRegistry(t, Config{List: []Account{{Name: "sales", Keys: []Key{
		{Hash: mustHash(t, good)}, {Hash: mustHash(t, over), NotAfter: time.Now().Add(-time.Hour)},
	}}}})
	for name, key := range map[string]string{
		"missing": "", "malformed": "Bearer x", "unknown": NewKey(), "over": over,
		"another case": strings.ToUpper(good), "the hash": mustHash(t, good),
		"long": strings.Repeat("x", 64<<10), "zeros": string(make([]byte, keyLength)),
	} {
		if caller, known := registry.ByKey(key); known || caller.Account.Name != "" {
			t.Errorf("%s leads to %q", name, caller.Account.Name)
		}
		if allocations := testing.AllocsPerRun(100, func() { _, _ = registry.ByKey(key) }); allocations != 0 {
			t.Errorf("%s: %v allocations", name, allocations)
		}
	}
	if _, known := registry.ByKey(good); !known {
		t.Error("the good key is refused")
	}
}

func TestKeysRotateWithOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, fresh := NewKey(), NewKey()
		registry := mustRegistry(t, Config{List: []Account{{Name: "sales", Keys: []Key{
			{Hash: mustHash(t, old), NotAfter: time.Now().Add(time.Hour)}, {Hash: mustHash(t, fresh)},
		}}}})
		accepts := func(key string) bool { _, known := registry.ByKey(key); return known }
		time.Sleep(time.Hour - time.Second)
		if !accepts(old) || !accepts(fresh) {
			t.Error("a key is refused during the overlap")
		}
		time.Sleep(time.Second)
		if accepts(old) || !accepts(fresh) {
			t.Error("the old key goes on, or the new one does not")
		}
	})
}

func TestCertificates(t *testing.T) {
	registry := mustRegistry(t, Config{List: []Account{
		{Name: "crm", Certificates: []string{"spiffe://acme.example/crm", "CRM.acme.example"}},
		{Name: "ops", Certificates: []string{"ops.acme.example"}},
	}})
	for name, want := range map[string]string{
		"spiffe://acme.example/crm": "crm", "crm.Acme.example": "crm", "ops.acme.example": "ops",
		"": "", "spiffe://acme.example/crm/x": "", "spiffe://Acme.example/crm": "", "*.acme.example": "",
		"acme.example": "", "ops": "", "Ops Team": "", "://": "",
	} {
		if caller, known := registry.ByName(name); known != (want != "") || caller.Account.Name != want {
			t.Errorf("%q leads to %q, want %q", name, caller.Account.Name, want)
		}
	}
}

func TestApplyIsAllOrNothing(t *testing.T) {
	key := NewKey()
	registry := mustRegistry(t, Config{List: []Account{{Name: "sales", Keys: []Key{{Hash: mustHash(t, key)}}}}})
	if err := registry.Apply(Config{List: []Account{{Name: "sales"}, {Name: "Sales Team"}}}); err == nil {
		t.Fatal("applied a bad configuration")
	}
	if _, known := registry.ByKey(key); !known {
		t.Error("the key is gone with a configuration that was refused")
	}
	if err := registry.Apply(Config{}); err != nil {
		t.Fatal(err)
	}
	if _, known := registry.ByKey(key); known {
		t.Error("a removed account goes on")
	}
	if _, err := New(Config{List: []Account{{}}}); err == nil {
		t.Error("made of a bad configuration")
	}
}

// TestApplyUnderLoad replaces the configuration again and again while callers
// ask: none is refused, and each sees one configuration whole.
func TestApplyUnderLoad(t *testing.T) {
	key := NewKey()
	config := func(weight int) Config {
		return Config{List: []Account{{Name: "sales", Weight: weight, Rate: Rate{Requests: int64(weight)}, Keys: []Key{{Hash: mustHash(t, key)}}}}}
	}
	registry := mustRegistry(t, config(1))
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for range 2000 {
				if caller, known := registry.ByKey(key); !known || int64(caller.Account.Weight) != caller.Rate.Requests {
					t.Errorf("known: %v, weight %d of rate %d", known, caller.Account.Weight, caller.Rate.Requests)
					return
				}
			}
		})
	}
	for i := range 200 {
		if err := registry.Apply(config(i%10 + 1)); err != nil {
			t.Error(err)
		}
	}
	asking.Wait()
}

func TestValidateFindsEverything(t *testing.T) {
	hash := mustHash(t, NewKey())
	for want, account := range map[string]Account{
		"list[0].name: ":                 {Name: "Sales"},
		"list[0].keys[0].hash: is not":   {Name: "a", Keys: []Key{{Hash: NewKey()}}},
		"list[0].keys[1].hash: is that":  {Name: "a", Keys: []Key{{Hash: hash}, {Hash: hash}}},
		"list[0].certificates[0]: ":      {Name: "a", Certificates: []string{"a b"}},
		"list[0].certificates[1]: is th": {Name: "a", Certificates: []string{"a.example", "A.example"}},
		"list[0].weight: ":               {Name: "a", Weight: -1},
		"list[0].lanes: ":                {Name: "a", Lanes: []enrich.Lane{}},
		"list[0].lanes[0]: ":             {Name: "a", Lanes: []enrich.Lane{"fast"}},
		"list[0].attributes: ":           {Name: "a", Attributes: []enrich.Attribute{}},
		"list[0].attributes[0]: ":        {Name: "a", Attributes: []enrich.Attribute{"person.shoe_size"}},
		"list[0].providers: ":            {Name: "a", Providers: []string{}},
		"list[0].purposes: ":             {Name: "a", Purposes: map[string][]enrich.Attribute{"Any Thing": nil}},
		"list[0].purposes.p[0]: the con": {Name: "a", Purposes: map[string][]enrich.Attribute{"p": {"person.shoe_size"}}},
		"list[0].purposes.p[0]: the acc": {Name: "a", Attributes: []enrich.Attribute{"company.name"}, Purposes: map[string][]enrich.Attribute{"p": {"person.title"}}},
		"list[0].trial.percent: ":        {Name: "a", Trial: Trial{Plan: "p", Percent: 101}},
		"list[0].trial.plan: ":           {Name: "a", Trial: Trial{Percent: 1}},
		"list[0].shadow.day_cap: ":       {Name: "a", Shadow: Shadow{Plan: "p", DayCap: -1}},
		"list[0].shadow.plan: ":          {Name: "a", Shadow: Shadow{DayCap: 1}},
		"list[0].money.zone: ":           {Name: "a", Money: Money{Zone: "Nowhere/City"}},
		"list[0].money.day: -1":          {Name: "a", Money: Money{Day: -1}},
		"list[0].money.month: ":          {Name: "a", Money: Money{Month: -1}},
		"list[0].money.day: 2":           {Name: "a", Money: Money{Day: 2, Month: 1}},
		"list[0].rate.requests: ":        {Name: "a", Rate: Rate{Requests: -1}},
		"list[0].rate.window: ":          {Name: "a", Rate: Rate{Window: -time.Second}},
	} {
		problems := Config{List: []Account{account}}.Validate()
		if len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), want) {
			t.Errorf("%s has %v", want, problems)
		}
		if text := errors.Join(problems...).Error(); strings.Contains(text, keyPrefix) {
			t.Errorf("%s repeats a key", want)
		}
	}
	twice := Config{List: []Account{{Name: "a", Keys: []Key{{Hash: hash}}}, {Name: "a", Weight: -1, Keys: []Key{{Hash: hash}}}}}
	if problems := twice.Validate(); len(problems) != 3 {
		t.Errorf("a name twice, a key twice and a weight are %v", problems)
	}
}

func TestValidateNames(t *testing.T) {
	config := Config{List: []Account{{
		Name: "a", Providers: []string{"alpha", "bolt"}, Plan: "p", Trial: Trial{Plan: "q"}, Shadow: Shadow{Plan: "p"},
	}}}
	problems := config.ValidateNames([]string{"alpha"}, []string{"p"})
	if len(problems) != 2 || !strings.HasPrefix(problems[0].Error(), "list[0].providers[1]: ") || !strings.HasPrefix(problems[1].Error(), "list[0].trial.plan: ") {
		t.Errorf("it says %v", problems)
	}
}
