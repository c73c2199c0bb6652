package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/fakevendor"
)

// TestReloadsUnderLoad changes the configuration ten times a second while more
// is asked for than one vendor allows. No request may fail, and the vendors,
// which count strictly, may refuse no call: a bucket that a reload refills, or
// a quota that two routes count apart, would show there.
func TestReloadsUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		defer stop()
		var asking sync.WaitGroup
		var answers atomic.Int64
		asking.Go(func() {
			every := time.NewTicker(40 * time.Millisecond)
			defer every.Stop()
			for i := 0; ; i++ {
				select {
				case <-ctx.Done():
					return
				case <-every.C:
				}
				asking.Go(func() {
					answer, err := w.service.Enrich(context.Background(), titleOf(fmt.Sprintf("jane.doe%d@acme.example", i), 10*time.Second))
					if err != nil || answer.Completeness != enrich.Complete {
						t.Errorf("request %d at %v: %v, %v", i, time.Now(), answer, err)
					}
					answers.Add(1)
				})
			}
		})
		reloads := 0
		every := time.NewTicker(100 * time.Millisecond)
		defer every.Stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-every.C:
				if _, err := w.apply(variant(reloads)); err != nil {
					t.Fatal(err)
				}
				reloads++
			}
		}
		asking.Wait()
		for _, vendor := range []string{primary, secondary} {
			summary := w.vendors.Summary(vendor)
			if summary.RateLimited > 0 {
				t.Errorf("%s refused %d calls by %v", vendor, summary.RateLimited, summary.RefusedBy)
			}
			if summary.Calls < 50 {
				t.Errorf("%s was called %d times: its limits were not tried", vendor, summary.Calls)
			}
		}
		if reloads < 190 || answers.Load() < 450 {
			t.Errorf("%d reloads, %d answers", reloads, answers.Load())
		}
	})
}

// variant is one of several configurations of the world, with the second vendor
// first, which allows least.
func variant(i int) config.Config {
	c := worldConfig()
	slices.Reverse(c.Providers.List)
	credit := float64(i % 3)
	switch i % 6 {
	case 0:
		c.Providers.List[0].Credit = &credit
	case 1:
		c.Providers.List[0].Timeout = 9 * time.Second
		c.Answers.Freshness.StaleFor = time.Hour
	case 2:
		c.Router.Attempts = 2
		c.Router.Backoff.Base = 300 * time.Millisecond
	case 3:
		third := c.Providers.List[0]
		third.Name = "third"
		third.Attributes = []enrich.Attribute{"company.technologies"}
		c.Providers.List = append(c.Providers.List, third)
	case 4:
		c.Providers.List[0].Credentials = map[string]string{"api_key": "k"}
		c.Router.Breaker.Failures = 7
	}
	return c
}

// TestARefusedReloadChangesNothing has one part after another refuse.
func TestARefusedReloadChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, spoil := range map[string]func(*config.Config){
			"no such definition": func(c *config.Config) { c.Providers.List[0].Definition = "nobody" },
			"a bad limit": func(c *config.Config) {
				c.Providers.List[0].Limits = []enrich.Limit{{Name: "bad", Shape: "round", Amount: 1}}
			},
			"a bad router": func(c *config.Config) { c.Router.Order = "dearest" },
		} {
			w := newWorld(t)
			before := w.parts.vendors
			spoilt := worldConfig()
			spoilt.Providers.List = spoilt.Providers.List[:1]
			spoil(&spoilt)
			if _, err := w.apply(spoilt); err == nil {
				t.Errorf("%s is obeyed", name)
			}
			w.strike(t, primary, fakevendor.Fault{Kind: fakevendor.Outage, Status: 503})
			if by := w.enrich(t, titleOf("jane.doe@acme.example", 20*time.Second)).Found.Of("person.title").Fact.Source; by != secondary || w.parts.vendors != before {
				t.Errorf("%s: answered by %q: something has changed", name, by)
			}
		}
	})
}

// TestRequestsOutlastTheirProvider has a provider leave while a request waits
// for one of its tokens, and for an answer.
func TestRequestsOutlastTheirProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		alone := worldConfig()
		alone.Providers.List = alone.Providers.List[:1]
		alone.Providers.List[0].Limits = []enrich.Limit{{Name: "second", Shape: enrich.TokenBucket, Amount: 1, Window: 2 * time.Second, Burst: 1}}
		if _, err := w.apply(alone); err != nil {
			t.Fatal(err)
		}
		w.strike(t, primary, fakevendor.Fault{Kind: fakevendor.Brownout, Share: 1e-9, Latency: fakevendor.Latency{Median: 500 * time.Millisecond}})
		var asking sync.WaitGroup
		for i := range 3 {
			asking.Go(func() {
				if _, err := w.service.Enrich(t.Context(), titleOf(fmt.Sprintf("jane.doe%d@acme.example", i), 20*time.Second)); err != nil {
					t.Errorf("request %d: %v", i, err)
				}
			})
		}
		time.Sleep(100 * time.Millisecond)
		if _, err := w.apply(config.Config{}); err != nil {
			t.Fatal(err)
		}
		asking.Wait()
		if left := len(w.quotas.Snapshot()); left != 2 {
			t.Errorf("quotas of %d providers are kept, want both", left)
		}
		time.Sleep(stay)
		if left := len(w.quotas.Snapshot()); left != 0 {
			t.Errorf("quotas of %d providers are kept at last", left)
		}
	})
}

// TestTheProgramFollowsItsFile runs the whole program from a file that changes.
func TestTheProgramFollowsItsFile(t *testing.T) {
	_, address := startVendors(t)
	folder := t.TempDir()
	file, key := filepath.Join(folder, "enrichd.yaml"), filepath.Join(folder, "key")
	put := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	text := fmt.Sprintf(`
log: {level: info}
server: {grpc: "127.0.0.1:0", http: "127.0.0.1:0"}
telemetry: {admin: "127.0.0.1:0"}
providers:
  list:
    - {definition: %[1]s, base_url: "%[3]s/%[1]s", allow_private: true, credentials: {api_key: "${file:%[4]s}"}}
    - {definition: %[2]s, base_url: "%[3]s/%[2]s", allow_private: true, credentials: {api_key: k}}
`, primary, secondary, address, key)
	put(key, "the-first-secret")
	put(file, text)
	log, level := &lockedBuffer{}, &slog.LevelVar{}
	program := follow(t, file, Options{Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: level})), Level: level, File: file})

	lines := func(message string) int { return strings.Count(log.String(), message) }
	const applied, kept = "configuration reloaded", "the one before still holds"
	source := func(lead string) string {
		return program.enrich(t, lead).GetProvenance()["person.title"].GetProvider()
	}
	if by := source("jane.doe@acme.example"); by != primary {
		t.Fatalf("the first answer is %q's", by)
	}
	for i, step := range []struct {
		name, field string
		change      func()
		holds       func() bool
	}{
		{"the level", "log.level", func() { text = strings.Replace(text, "info", "debug", 1); put(file, text) }, func() bool { return level.Level() == slog.LevelDebug }},
		{"a secret", "providers.list[0].credentials.api_key", func() { put(key, "the-second-secret") }, func() bool { return true }},
		{"a listener", "after_restart", func() { text = strings.Replace(text, `http: "127.0.0.1:0"`, `http: "localhost:0"`, 1); put(file, text) }, func() bool { return true }},
		{"the order", "providers.list", func() {
			lines := strings.Split(strings.TrimSpace(text), "\n")
			last := len(lines) - 1
			lines[last-1], lines[last] = lines[last], lines[last-1]
			text = strings.Join(lines, "\n")
			put(file, text)
		}, func() bool { return source("john.roe@acme.example") == secondary }},
	} {
		step.change()
		waitFor(t, step.name, func() bool { return lines(applied) == i+1 })
		if !step.holds() {
			t.Errorf("%s does not hold", step.name)
		}
		if !strings.Contains(log.String(), step.field) {
			t.Errorf("the log does not name %s: %s", step.field, log.String())
		}
	}
	for i, broken := range []string{"", "providers: {list: [{definition: nobody}]}", "- - - ["} {
		put(file, broken)
		waitFor(t, "it is refused", func() bool { return lines(kept) == i+1 })
	}
	if by := source("mary.poe@acme.example"); by != secondary {
		t.Errorf("after broken files %q answers", by)
	}
	put(file, text)
	program.again <- syscall.SIGHUP
	waitFor(t, "it is read again", func() bool { return lines("configuration unchanged") > 0 })
	waitFor(t, "reloads are counted by what came of them", func() bool {
		counted := scrape(t, program.app)
		return strings.Contains(counted, `enrichd_config_reloads_total{result="applied"} 4`) &&
			strings.Contains(counted, `enrichd_config_reloads_total{result="refused"} 3`)
	})
	if said := log.String(); strings.Contains(said, "-secret") {
		t.Errorf("the log holds a secret: %s", said)
	}
}

// TestNothingIsReloadedByAProgramThatEnds asks once more when its parts have been
// released.
func TestNothingIsReloadedByAProgramThatEnds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "enrichd.yaml")
	if err := os.WriteFile(file, []byte("server: {grpc: \"127.0.0.1:0\", http: \"127.0.0.1:0\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := follow(t, file, Options{File: file})
	if _, err := program.app.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	program.stop()
	if _, err := program.app.Reload(t.Context()); err == nil {
		t.Error("a program that has ended took another configuration")
	}
}
