package cache

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/enrichd/enrichd/cache/redistest"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/redisconn"
)

// TestTiers runs the one suite that every tier must pass.
func TestTiers(t *testing.T) {
	t.Run("none", func(t *testing.T) { testTier(t, none{}, false) })
	t.Run("memory", func(t *testing.T) { testTier(t, startMemory(t, 64<<20), true) })
	t.Run("redis", func(t *testing.T) { testTier(t, startRemote(t, redistest.Start(t), patient), true) })
}

// testTier tests what the tier interface promises, of a tier that keeps what
// it is given or of one that keeps nothing.
func testTier(t *testing.T, tested tier, keeps bool) {
	ctx := t.Context()
	later := time.Now().Add(time.Hour)
	recalls := func(t *testing.T, subject tag, want ...enrich.Fact) {
		t.Helper()
		if !keeps {
			want = nil
		}
		got := tested.recall(ctx, subject)
		if len(want) == 0 {
			if got != nil {
				t.Fatalf("recalled %d bytes, want nothing", len(got.payload))
			}
			return
		}
		if got == nil {
			t.Fatal("recalled nothing")
		}
		if got.tag != subject {
			t.Fatal("recalled another subject")
		}
		wantSame(t, mustRecord(t, got), enrich.NewRecord(want...))
	}

	t.Run("knows nothing at first", func(t *testing.T) {
		recalls(t, newTag())
	})
	t.Run("recalls at once what it remembers", func(t *testing.T) {
		subject, fact := newTag(), titleBy("alpha", now())
		tested.remember(ctx, mustEntry(t, subject, later, fact))
		recalls(t, subject, fact)
	})
	t.Run("returns what is kept", func(t *testing.T) {
		subject, first, second := newTag(), titleBy("alpha", now()), titleBy("beta", now())
		tested.remember(ctx, mustEntry(t, subject, later, first))
		kept := tested.remember(ctx, mustEntry(t, subject, later, second))
		want := enrich.NewRecord(second)
		if keeps {
			want = enrich.NewRecord(first, second)
		}
		wantSame(t, mustRecord(t, kept), want)
		recalls(t, subject, first, second)
	})
	t.Run("keeps the newer fact in any order", func(t *testing.T) {
		subject, older, newer := newTag(), titleBy("alpha", now().Add(-time.Hour)), titleBy("alpha", now())
		tested.remember(ctx, mustEntry(t, subject, later, newer))
		tested.remember(ctx, mustEntry(t, subject, later, older))
		recalls(t, subject, newer)
	})
	t.Run("loses no fact to writers at once", func(t *testing.T) {
		subject := newTag()
		var facts []enrich.Fact
		var writers sync.WaitGroup
		for i := range 12 {
			fact := titleBy(fmt.Sprintf("source-%02d", i), now())
			facts = append(facts, fact)
			writers.Go(func() { tested.remember(ctx, mustEntry(t, subject, later, fact)) })
		}
		writers.Wait()
		recalls(t, subject, facts...)
	})
	t.Run("is never stale after quick writes of a new subject", func(t *testing.T) {
		for range 200 {
			subject, older, newer := newTag(), titleBy("alpha", now().Add(-time.Hour)), titleBy("alpha", now())
			tested.remember(ctx, mustEntry(t, subject, later, older))
			tested.remember(ctx, mustEntry(t, subject, later, newer))
			recalls(t, subject, newer)
		}
	})
	t.Run("checks what another tier recalled", func(t *testing.T) {
		subject, mine, theirs := newTag(), titleBy("alpha", now()), titleBy("beta", now())
		tested.remember(ctx, mustEntry(t, subject, later, mine))
		want := enrich.NewRecord(theirs)
		if keeps {
			want = enrich.NewRecord(mine, theirs)
		}
		checked := tested.check(ctx, mustEntry(t, subject, later, theirs))
		wantSame(t, mustRecord(t, checked), want)
		recalls(t, subject, want.Facts()...)
	})
	t.Run("forgets", func(t *testing.T) {
		subject := newTag()
		tested.remember(ctx, mustEntry(t, subject, later, titleBy("alpha", now())))
		if err := tested.forget(ctx, subject); err != nil {
			t.Fatal(err)
		}
		recalls(t, subject)
	})
	t.Run("refuses what was loaded before an erasure", func(t *testing.T) {
		subject := newTag()
		before := titleBy("alpha", now())
		if err := tested.forget(ctx, subject); err != nil {
			t.Fatal(err)
		}
		kept := tested.remember(ctx, mustEntry(t, subject, later, before))
		if keeps && kept != nil {
			t.Error("remember kept what was erased")
		}
		recalls(t, subject)

		after := titleBy("beta", now().Add(time.Second))
		tested.remember(ctx, mustEntry(t, subject, later, before, after))
		recalls(t, subject, after)
	})
	t.Run("checks what was erased against what came after", func(t *testing.T) {
		subject, before, after := newTag(), titleBy("alpha", now()), titleBy("beta", now().Add(time.Second))
		tested.remember(ctx, mustEntry(t, subject, later, before))
		if err := tested.forget(ctx, subject); err != nil {
			t.Fatal(err)
		}
		tested.remember(ctx, mustEntry(t, subject, later, after))
		if checked := tested.check(ctx, mustEntry(t, subject, later, before)); keeps {
			wantSame(t, mustRecord(t, checked), enrich.NewRecord(after))
		}
		recalls(t, subject, after)
	})
	t.Run("recalls nothing that has expired", func(t *testing.T) {
		subject, soon := newTag(), now().Add(100*time.Millisecond)
		tested.remember(ctx, mustEntry(t, subject, soon, titleBy("alpha", now())))
		eventually(t, func() bool { return tested.recall(ctx, subject) == nil })
		if early := time.Until(soon); keeps && early > 0 {
			t.Errorf("forgot %v early", early)
		}
	})
	t.Run("forgets everything when closed", func(t *testing.T) {
		subject := newTag()
		tested.remember(ctx, mustEntry(t, subject, later, titleBy("alpha", now())))
		if err := tested.close(); err != nil {
			t.Fatal(err)
		}
		if got := tested.recall(ctx, subject); got != nil {
			t.Error("recalled after close")
		}
		tested.remember(ctx, mustEntry(t, subject, later, titleBy("alpha", now())))
	})
}

// now is the time to the millisecond, as facts have it.
func now() time.Time { return time.Now().Truncate(time.Millisecond) }

// titleBy is what a source said about a title at a time.
func titleBy(source string, at time.Time) enrich.Fact {
	return enrich.Fact{
		Attribute: "person.title", State: enrich.StateValue, Value: enrich.TextValue("Head of Gardens at " + at.String()),
		Source: source, FetchedAt: at, Confidence: 0.875, Price: 280000,
	}
}

// wideRecord is a record as two talkative vendors leave it.
func wideRecord(at time.Time) enrich.Record {
	var facts []enrich.Fact
	for _, spec := range enrich.Attributes() {
		for _, source := range []string{"alpha", "beta"} {
			fact := enrich.Fact{Attribute: spec.Attribute, Source: source, FetchedAt: at, Confidence: 0.7, Price: 9000, State: enrich.StateValue}
			switch {
			case source == "beta" && spec.Form == enrich.Number:
				fact.State = enrich.StateAbsent
			case source == "beta" && spec.Form == enrich.Word:
				fact.State = enrich.StateSuppressed
			case spec.Form == enrich.Number:
				fact.Value = enrich.NumberValue(1987)
			case spec.Form == enrich.Word:
				fact.Value = enrich.WordValue(spec.Words[0])
			case spec.Form == enrich.List:
				fact.Value = enrich.ListValue([]string{"go", "redis", "terraform"})
			default:
				fact.Value = enrich.TextValue("Brunhilde Sägewerk, " + string(spec.Attribute))
			}
			facts = append(facts, fact)
		}
	}
	return enrich.NewRecord(facts...)
}

// newTag names a subject that nobody has used.
func newTag() (t tag) {
	rand.Read(t[:])
	return t
}

func mustEntry(t testing.TB, subject tag, until time.Time, facts ...enrich.Fact) *entry {
	t.Helper()
	e, err := newEntry(subject, enrich.NewRecord(facts...), until)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func mustRecord(t testing.TB, e *entry) enrich.Record {
	t.Helper()
	record, err := e.record()
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// wantSame compares two records fact by fact.
func wantSame(t testing.TB, got, want enrich.Record) {
	t.Helper()
	if !same(got, want) {
		t.Fatalf("got %d facts, want %d, or they differ:\n%v\n%v", len(got.Facts()), len(want.Facts()), got.Facts(), want.Facts())
	}
}

func same(a, b enrich.Record) bool {
	if len(a.Facts()) != len(b.Facts()) {
		return false
	}
	for i, fact := range a.Facts() {
		other := b.Facts()[i]
		if !fact.FetchedAt.Equal(other.FetchedAt) || !fact.Value.Equal(other.Value) {
			return false
		}
		fact.FetchedAt, fact.Value = other.FetchedAt, enrich.Value{}
		other.Value = enrich.Value{}
		if fmt.Sprintf("%#v", fact) != fmt.Sprintf("%#v", other) {
			return false
		}
	}
	return true
}

// eventually waits until a condition holds, and fails the test if it takes
// much longer than it may.
func eventually(t testing.TB, holds func() bool) {
	t.Helper()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatal("it never happened")
		case <-look.C:
		}
	}
}

// patient suits tests that are not about waiting, on a machine that does much
// else.
var patient = patience{recall: 10 * time.Second, store: 10 * time.Second}

func startMemory(t testing.TB, bytes int64) *memory {
	t.Helper()
	m, err := newMemory(bytes, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.close() })
	return m
}

func startRemote(t testing.TB, server *redistest.Server, wait patience) *remote {
	t.Helper()
	config := redisConfig(server)
	r, err := newRemote(config.Redis, wait, &barriers{}, &counters{}, silent())
	if err != nil {
		t.Fatal(err)
	}
	r.start(none{})
	t.Cleanup(func() { r.close() })
	return r
}

// redisConfig is a config that uses the server, with defaults.
func redisConfig(server *redistest.Server) Config {
	return Config{Redis: RedisConfig{Config: redisconn.Config{Addresses: []string{server.Addr}}, Pepper: "a pepper for tests alone"}}.WithDefaults()
}

func silent() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
