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

	"github.com/enrichd/enrichd/enrich"
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
	if s.router != nil {
		if err := s.router.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
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
	case "close":
		return s.close(rest)
	}
	return fmt.Errorf("nobody understands %q", verb)
}

// close stops the router, which may take so long.
func (s *scenario) close(most string) error {
	d, err := time.ParseDuration(most)
	if err != nil {
		return err
	}
	s.under.Wait()
	s.note("the router closes")
	ctx, cancel := context.WithTimeout(s.t.Context(), d)
	defer cancel()
	if err := s.router.Close(ctx); err != nil {
		s.note("the router is closed: " + err.Error())
	} else {
		s.note("the router is closed")
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
	ask.Late = func(record enrich.Record) {
		for _, fact := range record.Facts() {
			s.note(fmt.Sprintf("%s of %s is remembered from %s", short(fact.Attribute), who, fact.Source))
		}
	}
	s.note(who + " " + answerText(s.router.Find(ctx, ask), ask, s.start))
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
	if record.Message == "not called" && d.concurrent {
		return nil // who of those side by side gets so far is a matter of luck
	}
	var provider, rest string
	record.Attrs(func(a slog.Attr) bool {
		value := a.Value.String()
		if strings.Contains(value, "@") {
			d.t.Errorf("the log says %s=%s", a.Key, value)
		}
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
