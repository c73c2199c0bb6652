package cache

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// TestMemoryQuickWrites writes new subjects twice while many others do: the
// older of two quick writes must never be what stays.
func TestMemoryQuickWrites(t *testing.T) {
	m := startMemory(t, 256<<20)
	later := time.Now().Add(time.Hour)
	const writers, each = 4, 5000
	var stale sync.Map
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for i := range each {
				subject, at := newTag(), now()
				m.remember(t.Context(), mustEntry(t, subject, later, titleBy("alpha", at.Add(-time.Minute))))
				m.remember(t.Context(), mustEntry(t, subject, later, titleBy("alpha", at)))
				if got := m.recall(t.Context(), subject); got != nil && !mustRecord(t, got).Facts()[0].FetchedAt.Equal(at) {
					stale.Store(fmt.Sprint(w, i), true)
				}
				if i%100 == 0 {
					m.cache.Wait()
				}
				if got := m.recall(t.Context(), subject); got != nil && !mustRecord(t, got).Facts()[0].FetchedAt.Equal(at) {
					stale.Store(fmt.Sprint(w, i), true)
				}
			}
		})
	}
	running.Wait()
	stale.Range(func(which, _ any) bool {
		t.Errorf("write %v left the older fact", which)
		return false
	})
}

// TestMemoryDeletionsStay has ristretto apply a write after a deletion that came
// later, as it does for a moment when it lags behind.
func TestMemoryDeletionsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMemory(t, 8<<20)
		subject := newTag()
		e := mustEntry(t, subject, time.Now().Add(time.Hour), titleBy("alpha", now()))
		m.remember(t.Context(), e)
		m.forget(t.Context(), subject)
		m.cache.Set(word(subject), e, e.cost())
		m.cache.Wait()
		if m.recall(t.Context(), subject) != nil {
			t.Error("recalled an erased subject")
		}
		m.close()
	})
}

// TestMemoryAndRistrettoAgree writes subjects twice in a moment, erases some and
// overfills memory: what answers is what ristretto counts.
func TestMemoryAndRistrettoAgree(t *testing.T) {
	const bytes = 1 << 20
	m := startMemory(t, bytes)
	last := map[tag]*entry{}
	for i := range 4 * bytes / typicalCost {
		subject := newTag()
		m.remember(t.Context(), mustEntry(t, subject, time.Now().Add(time.Hour), titleBy("alpha", now())))
		last[subject] = m.remember(t.Context(), mustEntry(t, subject, time.Now().Add(time.Hour), titleBy("beta", now())))
		if i%10 == 0 {
			m.forget(t.Context(), subject)
			last[subject] = nil
		}
	}
	settle(m)
	answers := 0
	for subject, wrote := range last {
		kept, ok := m.cache.Get(word(subject))
		got := m.recall(t.Context(), subject)
		if got != kept || (got != nil) != ok || got != nil && got != wrote {
			t.Fatalf("memory answers %p, ristretto keeps %p, the last write was %p", got, kept, wrote)
		}
		if got != nil {
			answers++
		}
	}
	if answers < bytes/typicalCost/2 || answers == len(last) {
		t.Errorf("%d of %d subjects are kept", answers, len(last))
	}
}

// TestMemoryKeepsWhatComesAfterAnErasure at once, while ristretto has yet to apply
// what was erased and the erasure.
func TestMemoryKeepsWhatComesAfterAnErasure(t *testing.T) {
	m := startMemory(t, 256<<20)
	until, after := time.Now().Add(time.Hour), titleBy("alpha", now().Add(time.Minute))
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 5000 {
				subject := newTag()
				m.remember(t.Context(), mustEntry(t, subject, until, titleBy("alpha", now())))
				m.forget(t.Context(), subject)
				m.remember(t.Context(), mustEntry(t, subject, until, after))
				m.cache.Wait()
				m.takeOut()
				if m.recall(t.Context(), subject) == nil {
					t.Error("lost what was learned after an erasure")
				}
			}
		})
	}
	writers.Wait()
}

func TestMemoryRemovesWhatExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := startMemory(t, 8<<20)
		for range 100 {
			m.remember(t.Context(), mustEntry(t, newTag(), time.Now().Add(time.Minute), titleBy("alpha", now())))
		}
		stays := newTag()
		m.remember(t.Context(), mustEntry(t, stays, time.Now().Add(time.Hour), titleBy("alpha", now())))
		<-time.After(2 * sweepEvery)
		synctest.Wait()
		m.cache.Wait()
		kept := 0
		m.cache.IterValues(func(*entry) bool { kept++; return false })
		if kept != 1 || m.recall(t.Context(), stays) == nil {
			t.Errorf("%d entries are kept, want the one that has not expired", kept)
		}
		m.close()
	})
}

func TestMemoryStaysWithinItsBytes(t *testing.T) {
	const bytes = 4 << 20
	m := startMemory(t, bytes)
	record := wideRecord(now())
	payload := len(mustEntry(t, newTag(), time.Now().Add(time.Hour), record.Facts()...).payload)
	for range 4 * bytes / payload {
		subject := newTag()
		m.recall(t.Context(), subject) // the frequency that admits it is learnt from asking
		m.remember(t.Context(), mustEntry(t, subject, time.Now().Add(time.Hour), record.Facts()...))
	}
	settle(m)
	var stats Stats
	m.measure(&stats)
	if stats.MemoryBytes > bytes {
		t.Errorf("holds %d bytes of %d", stats.MemoryBytes, bytes)
	}
	if stats.MemoryBytes < bytes/2 {
		t.Errorf("holds only %d bytes of %d", stats.MemoryBytes, bytes)
	}
}

// TestMemoryCountsGrowth lets one subject's record grow: ristretto does not
// count the growth of an entry that is updated.
func TestMemoryCountsGrowth(t *testing.T) {
	m := startMemory(t, 4<<20)
	subject := newTag()
	for i := range 50 {
		m.remember(t.Context(), mustEntry(t, subject, time.Now().Add(time.Hour), titleBy(fmt.Sprint("source-", i), now())))
	}
	settle(m)
	var stats Stats
	m.measure(&stats)
	kept := m.recall(t.Context(), subject)
	if stats.MemoryBytes != kept.cost() {
		t.Errorf("one entry of cost %d is counted as %d", kept.cost(), stats.MemoryBytes)
	}
}

// TestMemoryBoundsGrowth lets entries grow while no new subject comes, for which
// alone ristretto makes room.
func TestMemoryBoundsGrowth(t *testing.T) {
	const bytes = 1 << 20
	m := startMemory(t, bytes)
	var subjects []tag
	for range bytes / typicalCost {
		subject := newTag()
		subjects = append(subjects, subject)
		m.remember(t.Context(), mustEntry(t, subject, time.Now().Add(time.Hour), titleBy("alpha", now())))
	}
	for _, subject := range subjects {
		m.remember(t.Context(), mustEntry(t, subject, time.Now().Add(time.Hour), wideRecord(now()).Facts()...))
		m.cache.Wait()
	}
	settle(m)
	var held int64
	for i := range m.stripes {
		for _, kept := range m.stripes[i].items {
			held += kept.cost()
		}
	}
	if held > bytes || held < bytes/2 {
		t.Errorf("entries that grew hold %d bytes of %d", held, bytes)
	}
}

// TestMemoryTellsSubjectsApart uses two subjects that ristretto cannot tell
// apart.
func TestMemoryTellsSubjectsApart(t *testing.T) {
	m := startMemory(t, 8<<20)
	first := newTag()
	second := first
	second[20]++
	m.remember(t.Context(), mustEntry(t, first, time.Now().Add(time.Hour), titleBy("alpha", now())))
	settle(m)
	if m.recall(t.Context(), second) != nil {
		t.Error("recalled another subject's record")
	}
	m.remember(t.Context(), mustEntry(t, second, time.Now().Add(time.Hour), titleBy("beta", now())))
	settle(m)
	if got := m.recall(t.Context(), first); got != nil && mustRecord(t, got).Facts()[0].Source != "alpha" {
		t.Error("recalled another subject's record")
	}
}

// TestMemoryErasuresAreBounded erases far more subjects than are remembered
// singly: what is forgotten about the erasures errs on the safe side.
func TestMemoryErasuresAreBounded(t *testing.T) {
	m := startMemory(t, 8<<20)
	before := titleBy("alpha", now())
	subject := newTag()
	m.forget(t.Context(), subject)
	for range 3 * maxErased {
		other := newTag()
		other[len(other)-1] = subject[len(subject)-1]
		m.forget(t.Context(), other)
	}
	if erased := len(m.stripe(subject).erased); erased > maxErased {
		t.Errorf("%d erasures of one stripe are kept", erased)
	}
	m.remember(t.Context(), mustEntry(t, subject, time.Now().Add(time.Hour), before))
	if m.recall(t.Context(), subject) != nil {
		t.Error("what was loaded before an erasure came back")
	}
	after := titleBy("alpha", now().Add(time.Second))
	m.remember(t.Context(), mustEntry(t, subject, time.Now().Add(time.Hour), after))
	if got := m.recall(t.Context(), subject); got == nil {
		t.Error("what was loaded after the erasures is refused")
	}
}

// TestMemoryClosesUnderLoad closes the tier while it is used: ristretto itself
// would panic.
func TestMemoryClosesUnderLoad(t *testing.T) {
	for range 5 {
		m := startMemory(t, 8<<20)
		var users sync.WaitGroup
		stop := make(chan struct{})
		for range 4 {
			users.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						subject := newTag()
						m.remember(t.Context(), mustEntry(t, subject, time.Now().Add(time.Hour), titleBy("alpha", now())))
						m.recall(t.Context(), subject)
						m.forget(t.Context(), subject)
					}
				}
			})
		}
		m.close()
		close(stop)
		users.Wait()
	}
}

// TestEntriesAreNeverChanged reads an entry that others keep joining.
func TestEntriesAreNeverChanged(t *testing.T) {
	m := startMemory(t, 8<<20)
	subject := newTag()
	m.remember(t.Context(), mustEntry(t, subject, time.Now().Add(time.Hour), titleBy("alpha", now())))
	held := m.recall(t.Context(), subject)
	before := mustRecord(t, held)
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			m.remember(t.Context(), mustEntry(t, subject, time.Now().Add(time.Hour), titleBy(fmt.Sprint("source-", i), now())))
		})
		writers.Go(func() { _ = enrich.Record(mustRecord(t, held)) })
	}
	writers.Wait()
	wantSame(t, mustRecord(t, held), before)
}

// settle waits until ristretto has decided and the maps follow it.
func settle(m *memory) {
	for range 2 {
		m.cache.Wait()
		m.takeOut()
	}
	m.cache.Wait()
}
