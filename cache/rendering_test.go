package cache

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

// rendered has a cache keep a rendering about a person and a company, of which it
// remembers one or both, and returns its glance.
func rendered(t *testing.T, c *Cache, question enrich.Fingerprint, until time.Time, about enrich.About) enrich.Glance {
	t.Helper()
	known := c.RecallAll(t.Context(), about[:])
	glance := enrich.Glance{Terms: c.Terms(), Person: known[0].Seen, Company: known[1].Seen}
	if glance.Person == nil && glance.Company == nil {
		t.Fatal("memory lacks what it was told")
	}
	c.KeepRendering(t.Context(), glance, question, enrich.Rendering{Sent: []byte("an answer")}, about, until)
	c.renderings.cache.Wait()
	return glance
}

// recites tells whether the answer to a question would be sent again.
func recites(t *testing.T, c *Cache, question enrich.Fingerprint) bool {
	t.Helper()
	_, glance, kept := c.Rendering(question)
	return kept && c.Holds(t.Context(), glance)
}

// TestRenderingsEnd changes what a rendering was made of in every way: it is
// not used from then on, none of before is kept any more, and an erasure leaves
// nothing of it in the process.
func TestRenderingsEnd(t *testing.T) {
	person, company := keyOf(t, "ada@orchard.example.com"), keyOf(t, "eve@orchard.example.com")
	question := enrich.Fingerprint{1, 2}
	for name, test := range map[string]struct {
		end    func(*testing.T, *Cache)
		erased email.Key // zero: nobody
		named  bool      // nothing is known of the person
	}{
		"the person is forgotten": {func(t *testing.T, c *Cache) {
			if err := c.Forget(t.Context(), person); err != nil {
				t.Error(err)
			}
		}, person, false},
		"the company is forgotten": {func(t *testing.T, c *Cache) {
			if err := c.Forget(t.Context(), company); err != nil {
				t.Error(err)
			}
		}, company, false},
		"another replica erases": {func(t *testing.T, c *Cache) {
			w := witness{c.memory.(*memory), c.drop}
			w.erased(c.tagger.tag(person), erasure{at: time.Now(), version: unknown})
		}, person, false},
		"who is only named is forgotten": {func(t *testing.T, c *Cache) {
			if err := c.Forget(t.Context(), person); err != nil {
				t.Error(err)
			}
		}, person, true},
		"something newer is known": {func(t *testing.T, c *Cache) {
			c.Remember(t.Context(), person, enrich.NewRecord(titleBy("beta", now())), time.Now().Add(time.Hour))
		}, email.Key{}, false},
		"a provider is believed no more": {func(t *testing.T, c *Cache) {
			if err := c.ForgetProvider(t.Context(), "gamma"); err != nil {
				t.Error(err)
			}
		}, email.Key{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := startCache(t, Config{})
			for _, key := range []email.Key{person, company} {
				if !test.named || key.Reveal() != person.Reveal() {
					c.Remember(t.Context(), key, enrich.NewRecord(titleBy("alpha", now())), time.Now().Add(time.Hour))
				}
			}
			glance := rendered(t, c, question, time.Now().Add(time.Hour), enrich.About{person, company})
			if !recites(t, c, question) {
				t.Fatal("not kept")
			}
			test.end(t, c)
			if recites(t, c, question) {
				t.Error("sent again all the same")
			}
			erased := !test.erased.IsZero()
			eventually(t, func() bool {
				_, kept := c.renderings.cache.Get(question[0])
				return kept != erased
			})
			if !test.named {
				c.KeepRendering(t.Context(), glance, enrich.Fingerprint{3, 4}, enrich.Rendering{Sent: []byte("late")}, enrich.About{person, company}, time.Now().Add(time.Hour))
				c.renderings.cache.Wait()
			}
			if _, _, kept := c.Rendering(enrich.Fingerprint{3, 4}); kept {
				t.Error("what was made before is kept afterwards")
			}
			if erased && slices.Contains(c.decoded.tags(), c.tagger.tag(test.erased)) {
				t.Error("what is known of it is still in the process")
			}
		})
	}
}

// TestRenderingsAreOfOneQuestion asks another question that shares the word by
// which ristretto knows them.
func TestRenderingsAreOfOneQuestion(t *testing.T) {
	c := startCache(t, Config{})
	key := keyOf(t, "ada@orchard.example.com")
	c.Remember(t.Context(), key, enrich.NewRecord(titleBy("alpha", now())), time.Now().Add(time.Hour))
	rendered(t, c, enrich.Fingerprint{1, 2}, time.Now().Add(time.Hour), enrich.About{key})
	if recites(t, c, enrich.Fingerprint{1, 3}) {
		t.Error("the answer to one question is sent for another")
	}
	rendered(t, c, enrich.Fingerprint{1, 3}, time.Now().Add(time.Hour), enrich.About{key})
	if recites(t, c, enrich.Fingerprint{1, 2}) || !recites(t, c, enrich.Fingerprint{1, 3}) {
		t.Error("the newer of two does not take the place of the older")
	}
}

// TestRenderingsExpire keeps one for no longer than it holds, and none that holds
// no more.
func TestRenderingsExpire(t *testing.T) {
	c := startCache(t, Config{})
	key := keyOf(t, "ada@orchard.example.com")
	c.Remember(t.Context(), key, enrich.NewRecord(titleBy("alpha", now())), time.Now().Add(time.Hour))
	glance := rendered(t, c, enrich.Fingerprint{1, 2}, time.Now().Add(200*time.Millisecond), enrich.About{key})
	eventually(t, func() bool { return !recites(t, c, enrich.Fingerprint{1, 2}) })
	c.KeepRendering(t.Context(), glance, enrich.Fingerprint{3, 4}, enrich.Rendering{Sent: []byte("late")}, enrich.About{key}, time.Now())
	c.renderings.cache.Wait()
	if recites(t, c, enrich.Fingerprint{3, 4}) {
		t.Error("kept past its end")
	}
}

// TestErasuresLeaveOtherRenderings erases many subjects in a moment, while others
// are told of.
func TestErasuresLeaveOtherRenderings(t *testing.T) {
	c := startCache(t, Config{})
	const subjects = 300
	for i := range uint64(subjects) {
		key := keyOf(t, fmt.Sprintf("ada.%d@orchard.example.com", i))
		c.Remember(t.Context(), key, enrich.NewRecord(titleBy("alpha", now())), time.Now().Add(time.Hour))
		rendered(t, c, enrich.Fingerprint{i, i}, time.Now().Add(time.Hour), enrich.About{key})
	}
	for i := 0; i < subjects; i += 2 {
		if err := c.Forget(t.Context(), keyOf(t, fmt.Sprintf("ada.%d@orchard.example.com", i))); err != nil {
			t.Fatal(err)
		}
	}
	held := func() (held int) {
		for i := range uint64(subjects) {
			if _, kept := c.renderings.cache.Get(i); kept {
				held++
			}
		}
		return held
	}
	eventually(t, func() bool { return held() <= subjects/2 })
	for i := range uint64(subjects) {
		if told := recites(t, c, enrich.Fingerprint{i, i}); told != (i%2 == 1) {
			t.Fatalf("subject %d is told of: %v", i, told)
		}
	}
	eventually(t, func() bool { return !c.renderings.pending.Load() })
}

// TestEntriesAndAnswersKeepToTheirRoom fills memory with entries and asks for those
// alone until it is full of answers too. None is forgotten for it, and what is
// refreshed then, and has grown, is kept.
func TestEntriesAndAnswersKeepToTheirRoom(t *testing.T) {
	const bytes = 4 << 20
	c := startCache(t, Config{MemoryBytes: bytes})
	m := c.memory.(*memory)
	var subjects []email.Key
	for i := range 4000 {
		key := keyOf(t, fmt.Sprintf("ada.%d@orchard.example.com", i))
		c.Remember(t.Context(), key, enrich.NewRecord(titleBy("alpha", now())), time.Now().Add(time.Hour))
		subjects = append(subjects, key)
	}
	settle(m)
	within := func(name string, held int64, share float64) {
		t.Helper()
		if most := part(bytes, share); held > most+most/growthShare || held < most*8/10 {
			t.Errorf("%s hold %d bytes of %d", name, held, most)
		}
	}
	entries := func() int64 { return c.Stats().MemoryBytes - c.renderings.bytes() }
	within("entries", entries(), entryShare)
	recalled := func(key email.Key) enrich.Recalled { return c.RecallAll(t.Context(), []email.Key{key})[0] }
	held := slices.DeleteFunc(subjects, func(key email.Key) bool { return recalled(key).Tier != enrich.MemoryTier })
	for i, key := range held {
		c.KeepRendering(t.Context(), enrich.Glance{Terms: c.Terms(), Person: recalled(key).Seen}, enrich.Fingerprint{uint64(i), 1}, enrich.Rendering{Sent: make([]byte, 2700)}, enrich.About{key}, time.Now().Add(time.Hour))
	}
	c.renderings.cache.Wait()
	within("answers", c.renderings.bytes(), renderingShare)
	for _, key := range held {
		if recalled(key).Tier != enrich.MemoryTier {
			t.Fatal("an entry is forgotten for answers")
		}
	}
	var lost int
	for _, key := range held {
		c.Remember(t.Context(), key, wideRecord(now()), time.Now().Add(time.Hour))
		if recalled(key).Tier != enrich.MemoryTier {
			lost++
		}
	}
	if lost > len(held)/50 { // one that leaves to make room may be the newest
		t.Errorf("%d of %d refreshed subjects are lost at once", lost, len(held))
	}
	settle(m)
	within("entries that grew", entries(), entryShare)
}

// TestAnswersAreErasedThatWaitToBeKept behind those about others.
func TestAnswersAreErasedThatWaitToBeKept(t *testing.T) {
	const people, before = 20, 300
	c := startCache(t, Config{MemoryBytes: 64 << 20})
	remember := func(name string) (email.Key, enrich.Glance) {
		key := keyOf(t, name+"@orchard.example.com")
		c.Remember(t.Context(), key, enrich.NewRecord(titleBy("alpha", now())), time.Now().Add(time.Hour))
		return key, enrich.Glance{Terms: c.Terms(), Person: c.RecallAll(t.Context(), []email.Key{key})[0].Seen}
	}
	keep := func(key email.Key, glance enrich.Glance, question enrich.Fingerprint) {
		c.KeepRendering(t.Context(), glance, question, enrich.Rendering{Sent: []byte("an answer")}, enrich.About{key}, time.Now().Add(time.Hour))
	}
	bob, seen := remember("bob")
	for i := range uint64(people) {
		ada, seenOfAda := remember(fmt.Sprintf("ada.%d", i))
		for j := range uint64(before) {
			keep(bob, seen, enrich.Fingerprint{people + i*before + j, 1})
		}
		keep(ada, seenOfAda, enrich.Fingerprint{i, 7})
		if err := c.Forget(t.Context(), ada); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() bool { return !c.renderings.pending.Load() })
	c.renderings.cache.Wait()
	for i := range uint64(people) {
		if k, found := c.renderings.cache.Get(i); found && k.question[1] == 7 {
			t.Errorf("the answer about erased person %d is kept", i)
		}
	}
}

// TestAnswersThatAreBeingErasedAreNotTold, be the subject only named in them, nor
// kept: neither before a search for them has begun nor while it goes on.
func TestAnswersThatAreBeingErasedAreNotTold(t *testing.T) {
	c := startCache(t, Config{MemoryBytes: 8 << 20})
	ada, bob := keyOf(t, "ada@orchard.example.com"), keyOf(t, "bob@orchard.example.com")
	c.Remember(t.Context(), bob, enrich.NewRecord(titleBy("alpha", now())), time.Now().Add(time.Hour))
	until := time.Now().Add(time.Hour)
	before := enrich.Fingerprint{1, 1}
	rendered(t, c, before, until, enrich.About{bob, ada})
	told := func(question enrich.Fingerprint) bool {
		_, _, told := c.Rendering(question)
		return told
	}
	if !told(before) {
		t.Fatal("the answer is not told before")
	}
	words := map[uint64]struct{}{word(c.tagger.tag(ada)): {}}
	for name, erasing := range map[string]*map[uint64]struct{}{"waits": &c.renderings.erased, "goes on": &c.renderings.leaving} {
		usual := *erasing
		c.renderings.mu.Lock()
		*erasing = words
		c.renderings.pending.Store(true)
		c.renderings.mu.Unlock()
		if told(before) {
			t.Errorf("the search %s: the answer is told", name)
		}
		rendered(t, c, enrich.Fingerprint{2, 2}, until, enrich.About{bob, ada})
		c.renderings.mu.Lock()
		*erasing = usual
		c.renderings.pending.Store(false)
		c.renderings.mu.Unlock()
		if told(enrich.Fingerprint{2, 2}) {
			t.Errorf("the search %s: an answer is kept", name)
		}
	}
}

func TestRenderingsCostWhatTheyTake(t *testing.T) {
	plain := &kept{Rendering: enrich.Rendering{Sent: make([]byte, 800)}}
	audited := &kept{Rendering: enrich.Rendering{Sent: make([]byte, 800), Audit: &enrich.AuditEntry{}}}
	if plain.cost() != 900+keptOverhead || audited.cost() != plain.cost()+auditOverhead {
		t.Errorf("they cost %d and %d", plain.cost(), audited.cost())
	}
}
