package router

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

var update = flag.Bool("update", false, "write what happens into the scenarios")

// divider stands between what is given and what happens.
const divider = "---- what happens ----\n"

// TestScenarios plays every scenario of testdata in virtual time. README.md
// there says how to read and write them.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			given, want, _ := strings.Cut(string(data), divider)
			var got string
			synctest.Test(t, func(t *testing.T) { got = play(t, given) })
			if *update && !t.Failed() {
				if err := os.WriteFile(file, []byte(given+divider+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("what happens has changed; if that is right, run go test -run %s -update\n got:\n%s\nwant:\n%s", t.Name(), got, want)
			}
		})
	}
}

// scenario is one being played.
type scenario struct {
	t       *testing.T
	parts   Parts
	limits  map[string][]enrich.Limit
	vendors map[string]*testVendor
	router  *Router
	account map[string]enrich.Account
	start   time.Time

	mu         sync.Mutex
	events     []event
	concurrent bool
	under      sync.WaitGroup
}

type event struct {
	at   time.Duration
	text string
}

// place orders what happens side by side at one moment as one caller sees it.
func (e event) place() int {
	for place, word := range []string{" asks for ", " dropped ", " answered ", " breaker ", " paused "} {
		if strings.Contains(e.text, word) {
			return place
		}
	}
	if strings.Contains(e.text, " gets ") {
		return 9
	}
	return 5
}

func play(t *testing.T, given string) string {
	s := &scenario{
		t:       t,
		limits:  map[string][]enrich.Limit{},
		vendors: map[string]*testVendor{},
		account: map[string]enrich.Account{},
		start:   time.Now(),
	}
	s.parts.Random = func() float64 { return 0 }
	for number, line := range strings.Split(given, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if err := s.obey(line); err != nil {
			t.Fatalf("line %d: %s: %v", number+1, line, err)
		}
	}
	s.under.Wait()
	for _, v := range s.vendors {
		close(v.free)
	}
	return s.trace()
}

func (s *scenario) obey(line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	switch {
	case verb == "config":
		return yaml.UnmarshalWithOptions([]byte(rest), &s.parts.Config, yaml.Strict())
	case verb == "jitter":
		full, err := strconv.ParseFloat(rest, 64)
		s.parts.Random = func() float64 { return full }
		return err
	case verb == "provider":
		return s.provider(rest)
	case verb == "account":
		return s.addAccount(rest)
	case s.vendors[verb] != nil:
		return s.script(verb, rest)
	}
	if s.router == nil {
		s.parts.Quota, s.parts.Observer, s.parts.Log = newQuota(s.t, s.limits), Unobserved{}, slog.New(decisions{s})
		router, err := New(s.parts)
		if err != nil {
			return err
		}
		s.router = router
	}
	switch verb {
	case "ask":
		return s.ask(rest, false)
	case "meanwhile":
		s.concurrent = true
		return s.ask(strings.TrimPrefix(rest, "ask "), true)
	case "wait":
		d, err := time.ParseDuration(rest)
		time.Sleep(d)
		return err
	case "resume":
		s.note(rest + " resumed")
		return s.router.Resume(rest)
	case "finish":
		s.under.Wait()
		return nil
	}
	return fmt.Errorf("nobody understands %q", verb)
}

// provider reads "acme supplies title,phone+8000 price 10000 timeout 5s".
func (s *scenario) provider(text string) error {
	words := strings.Fields(text)
	name := words[0]
	call := Call{Operation: "person", Kind: enrich.Person, Supplies: map[enrich.Attribute]Supply{}}
	var supplies string
	var confidence float64
	provider := Provider{Name: name}
	var err error
	for words = words[1:]; len(words) > 1 && err == nil; words = words[2:] {
		switch key, value := words[0], words[1]; key {
		case "supplies":
			supplies = value
		case "of":
			call.Operation, call.Kind = value, enrich.Company
		case "operation":
			call.Operation = value
		case "price":
			var micros int
			micros, err = strconv.Atoi(value)
			call.Price = enrich.Micros(micros)
		case "confidence":
			confidence, err = strconv.ParseFloat(value, 64)
		case "timeout":
			provider.Timeout, err = time.ParseDuration(value)
		case "limit":
			amount, per, _ := strings.Cut(value, "/")
			var n int
			var window time.Duration
			n, _ = strconv.Atoi(amount)
			window, err = time.ParseDuration(per)
			s.limits[name] = append(s.limits[name], bucket(n, window))
		default:
			err = fmt.Errorf("no provider has a %q", key)
		}
	}
	for item := range strings.SplitSeq(supplies, ",") {
		attribute, extra, _ := strings.Cut(item, "+")
		of, wrong := parseAttributes(attribute, call.Kind)
		if wrong != nil {
			return wrong
		}
		micros, _ := strconv.Atoi(extra)
		call.Supplies[of[0]] = Supply{Confidence: confidence, Extra: enrich.Micros(micros)}
	}
	i := slices.IndexFunc(s.parts.Providers, func(p Provider) bool { return p.Name == name })
	if i < 0 {
		v := &testVendor{name: name, free: make(chan struct{})}
		v.price = func(wanted []enrich.Attribute) enrich.Micros { return s.priceOf(name, wanted) }
		s.vendors[name] = v
		s.limits[name] = append(s.limits[name], enrich.Limit{Name: "at_once", Shape: enrich.Concurrency, Amount: 1000})
		provider.Lookup = v
		s.parts.Providers = append(s.parts.Providers, provider)
		i = len(s.parts.Providers) - 1
	}
	s.parts.Providers[i].Calls = append(s.parts.Providers[i].Calls, call)
	return err
}

// priceOf is what the vendor charges for a hit.
func (s *scenario) priceOf(name string, wanted []enrich.Attribute) (price enrich.Micros) {
	price = -1
	for _, provider := range s.parts.Providers {
		if provider.Name != name {
			continue
		}
		for _, call := range provider.Calls {
			of := call.Price
			for _, attribute := range wanted {
				supply, ok := call.Supplies[attribute]
				if !ok {
					of = 1 << 40
				}
				of += supply.Extra
			}
			if price < 0 || of < price {
				price = of
			}
		}
	}
	return price
}

// script reads "answers rate_limited wait 3s, then hit".
func (s *scenario) script(name, text string) error {
	text, ok := strings.CutPrefix(text, "answers ")
	if !ok {
		return fmt.Errorf("say what it answers")
	}
	kind := enrich.Person
	for _, provider := range s.parts.Providers {
		if provider.Name == name {
			kind = provider.Calls[0].Kind
		}
	}
	script, err := parseScript(text, kind)
	v := s.vendors[name]
	v.mu.Lock()
	defer v.mu.Unlock()
	v.script = script
	return err
}

// addAccount reads "small providers acme,bolt attributes title".
func (s *scenario) addAccount(text string) (err error) {
	words := strings.Fields(text)
	account := enrich.Account{Name: words[0]}
	for words = words[1:]; len(words) > 1 && err == nil; words = words[2:] {
		switch words[0] {
		case "providers":
			account.Providers = strings.Split(words[1], ",")
		case "attributes":
			account.Attributes, err = parseAttributes(words[1], enrich.Person)
		}
	}
	s.account[account.Name] = account
	return err
}

// ask reads "anna for title,phone within 2s lane bulk most 500 leaves 50ms".
func (s *scenario) ask(text string, meanwhile bool) error {
	words := strings.Fields(text)
	who, callers := words[0], 1
	if n, err := strconv.Atoi(who); err == nil {
		who, callers = words[1], n
		words = words[1:]
		s.concurrent = true
	}
	ask := enrich.Ask{Account: enrich.Account{Name: "sales"}}
	kind := enrich.Person
	if strings.Contains(who, ".") {
		kind = enrich.Company
	}
	within, leaves := enrich.DefaultRetryBudget, time.Duration(0)
	var wanted []enrich.Attribute
	var err error
	for words = words[1:]; len(words) > 1 && err == nil; words = words[2:] {
		switch key, value := words[0], words[1]; key {
		case "for":
			wanted, err = parseAttributes(value, kind)
		case "within":
			within, err = time.ParseDuration(value)
		case "leaves":
			leaves, err = time.ParseDuration(value)
		case "lane":
			ask.Lane = enrich.Lane(value)
		case "as":
			ask.Account = s.account[value]
		case "most":
			var micros int
			micros, err = strconv.Atoi(value)
			ask.Purse = enrich.NewPurse(enrich.Micros(micros))
		default:
			err = fmt.Errorf("nobody asks with %q", key)
		}
	}
	if err != nil {
		return err
	}
	for _, attribute := range wanted {
		ask.Needs = append(ask.Needs, enrich.Need{Attribute: attribute, Sources: s.router.Sources(enrich.Account{}, attribute)})
	}
	for i := range callers {
		name := who
		if callers > 1 {
			name = fmt.Sprintf("%s%d", who, i+1)
		}
		ask := ask
		ask.Subject = subjectOf(s.t, name)
		s.under.Go(func() { s.find(who, ask, within, leaves) })
	}
	if !meanwhile {
		s.under.Wait()
	}
	return nil
}

func (s *scenario) find(who string, ask enrich.Ask, within, leaves time.Duration) {
	ctx, cancel := context.WithTimeout(s.t.Context(), within)
	defer cancel()
	if leaves > 0 {
		time.AfterFunc(leaves, cancel)
	}
	s.note(who + " asks for " + needsText(ask.Needs))
	s.note(who + " " + answerText(s.router.Find(ctx, ask), ask, s.start))
}

// newQuota keeps limits until the test ends.
func newQuota(t testing.TB, limits map[string][]enrich.Limit) *quota.Keeper {
	keeper, err := quota.New(quota.Config{}, limits, quota.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keeper.Close() })
	return keeper
}

func bucket(amount int, window time.Duration) enrich.Limit {
	return enrich.Limit{Name: "bucket", Shape: enrich.TokenBucket, Amount: int64(amount), Window: window}
}

func subjectOf(t testing.TB, name string) enrich.Subject {
	normalizer, err := email.New(email.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(name, ".") {
		domain, err := normalizer.NormalizeDomain(name)
		if err != nil {
			t.Fatal(err)
		}
		return enrich.CompanySubject(domain)
	}
	address, err := normalizer.Normalize(name + "@example.com")
	if err != nil {
		t.Fatal(err)
	}
	return enrich.PersonSubject(address)
}

func needsText(needs []enrich.Need) string {
	var names []string
	for _, need := range needs {
		names = append(names, short(need.Attribute))
	}
	return strings.Join(names, ", ")
}

func short(a enrich.Attribute) string {
	_, name, _ := strings.Cut(string(a), ".")
	return name
}

// answerText tells what a caller gets, and why not the rest.
func answerText(found enrich.Found, ask enrich.Ask, start time.Time) string {
	var parts []string
	for _, need := range ask.Needs {
		name := short(need.Attribute)
		if best, ok := found.Record.Best(need.Attribute, func(f enrich.Fact) bool { return f.State == enrich.StateValue }); ok {
			parts = append(parts, fmt.Sprintf("gets %s from %s", name, best.Source))
		} else if reason, failed := found.Failed[need.Attribute]; failed {
			parts = append(parts, fmt.Sprintf("gets no %s: %s", name, reason))
		} else {
			parts = append(parts, fmt.Sprintf("gets no %s: absent", name))
		}
	}
	var cost enrich.Micros
	unknown := 0
	for _, attempt := range found.Attempts {
		cost += attempt.Charged.Micros
		if !attempt.Charged.Known {
			unknown++
		}
	}
	parts = append(parts, fmt.Sprintf("calls %d", len(found.Attempts)), fmt.Sprintf("cost %d", cost))
	if unknown > 0 {
		parts = append(parts, fmt.Sprintf("and %d of unknown cost", unknown))
	}
	if found.Err != nil {
		text := "error " + string(found.Err.Kind)
		if !found.Err.ReadyAt.IsZero() {
			text += fmt.Sprintf(", ready at %s", found.Err.ReadyAt.Sub(start).Round(time.Millisecond))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

func (s *scenario) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event{time.Since(s.start).Round(time.Millisecond), text})
}

// trace writes what happened, equal events of one moment once.
func (s *scenario) trace() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.concurrent {
		slices.SortStableFunc(s.events, func(a, b event) int {
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.place(), b.place()), cmp.Compare(a.text, b.text))
		})
	}
	var out bytes.Buffer
	for i := 0; i < len(s.events); {
		same := i + 1
		for same < len(s.events) && s.events[same] == s.events[i] {
			same++
		}
		fmt.Fprintf(&out, "%8s  %s", s.events[i].at, s.events[i].text)
		if same-i > 1 {
			fmt.Fprintf(&out, "  (%d times)", same-i)
		}
		out.WriteByte('\n')
		i = same
	}
	for _, name := range slices.Sorted(maps.Keys(s.vendors)) {
		fmt.Fprintf(&out, "          calls to %s: %d\n", name, s.vendors[name].calls)
	}
	return out.String()
}

// decisions is the log's handler: it writes the router's own words into the
// trace.
type decisions struct{ *scenario }

func (decisions) Enabled(context.Context, slog.Level) bool { return true }
func (d decisions) WithAttrs([]slog.Attr) slog.Handler     { return d }
func (d decisions) WithGroup(string) slog.Handler          { return d }

func (d decisions) Handle(_ context.Context, record slog.Record) error {
	if record.Message == string(settle) {
		return nil // it says no more than the answer
	}
	var provider, rest string
	record.Attrs(func(a slog.Attr) bool {
		value := a.Value.String()
		if a.Value.Kind() == slog.KindDuration {
			if a.Value.Duration() == 0 {
				return true
			}
			value = a.Value.Duration().Round(time.Millisecond).String()
		}
		switch a.Key {
		case "account", "lane", "error":
			return true
		case "provider":
			provider = value
			return true
		case "operation":
			if value == "person" || value == "company" {
				return true
			}
		case "until", "ready_at":
			if at := a.Value.Time(); at.IsZero() {
				value = "never"
			} else {
				value = at.Sub(d.start).Round(time.Millisecond).String()
			}
		}
		rest += " " + a.Key + "=" + value
		return true
	})
	d.note(provider + " " + record.Message + rest)
	return nil
}
