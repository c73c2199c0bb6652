package cache

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/enrichd/enrichd/cache/redistest"
	"github.com/enrichd/enrichd/enrich"
)

// TestWritesAreReplayed remembers while Redis is away: when it is back, other
// replicas know.
func TestWritesAreReplayed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	one, two := startCache(t, redisConfig(server)), startCache(t, redisConfig(server))
	key := keyOf(t, "ada@orchard.example.com")
	server.Kill()
	first, second := titleBy("alpha", now()), titleBy("beta", now())
	for _, fact := range []enrich.Fact{first, second} {
		one.Remember(t.Context(), key, enrich.NewRecord(fact), time.Now().Add(time.Hour))
		if got, by := one.Recall(t.Context(), key); got.IsEmpty() || by != enrich.MemoryTier {
			t.Fatal("memory alone does not go on")
		}
	}
	if waiting := one.Stats().Waiting; waiting != 1 {
		t.Errorf("%d writes wait, want one for the subject", waiting)
	}
	server.Restart()
	eventually(t, func() bool { return one.Stats().Waiting == 0 })
	eventually(t, func() bool {
		got, _ := two.Recall(t.Context(), key)
		return same(got, enrich.NewRecord(first, second))
	})
}

// TestErasuresAreReplayed forgets while Redis is away: the record, which Redis
// still has when it is back, is not recalled by anybody for longer than it
// takes to tell.
func TestErasuresAreReplayed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	one, two := startCache(t, redisConfig(server)), startCache(t, redisConfig(server))
	key := keyOf(t, "ada@orchard.example.com")
	one.Remember(t.Context(), key, wideRecord(now()), time.Now().Add(time.Hour))
	two.Recall(t.Context(), key)

	server.Pause()
	one.remote.writing.leave("the test says so")
	if err := one.Forget(t.Context(), key); err == nil {
		t.Error("an erasure that Redis has not heard of is no error")
	}
	server.Resume()
	if got, _ := one.Recall(t.Context(), key); !got.IsEmpty() {
		t.Error("the replica that erased still recalls it")
	}
	eventually(t, func() bool { return one.Stats().Waiting == 0 })
	eventually(t, func() bool {
		got, _ := two.Recall(t.Context(), key)
		return got.IsEmpty()
	})
}

// TestMemorySurvivesAnEmptyRedis restarts Redis empty: what memory knows is
// used, and given back.
func TestMemorySurvivesAnEmptyRedis(t *testing.T) {
	t.Parallel()
	server, caches := replicas(t, 2)
	one, two := caches[0], caches[1]
	key, record := keyOf(t, "ada@orchard.example.com"), wideRecord(now())
	one.Remember(t.Context(), key, record, time.Now().Add(time.Hour))
	gaps := one.Stats().Gaps
	server.Restart()
	eventually(t, func() bool { return one.Stats().Gaps > gaps && !one.remote.reading.away.Load() })
	got, by := one.Recall(t.Context(), key)
	if by != enrich.MemoryTier {
		t.Fatalf("recalled by %q", by)
	}
	wantSame(t, got, record)
	eventually(t, func() bool {
		got, by := two.Recall(t.Context(), key)
		return by == enrich.RedisTier && same(got, record)
	})
}

func TestRecoveryIsBounded(t *testing.T) {
	q := waitingRoom(t, "")
	later := time.Now().Add(time.Hour)
	refused := 0
	for range maxWaiting + 100 {
		if !q.add(mustEntry(t, newTag(), later, titleBy("alpha", now()))) {
			refused++
		}
	}
	if refused != 100 {
		t.Errorf("%d of 100 too many were refused", refused)
	}
	for q.size() > 0 {
		if _, ok := q.take(); !ok {
			t.Fatal("what waits cannot be taken")
		}
	}
	if q.bytes != 0 {
		t.Errorf("empty, but %d bytes wait", q.bytes)
	}
}

// TestRecoveryJoins keeps one write for each subject.
func TestRecoveryJoins(t *testing.T) {
	q := waitingRoom(t, "")
	subject, later := newTag(), time.Now().Add(time.Hour)
	first, second := titleBy("alpha", now()), titleBy("beta", now())
	q.add(mustEntry(t, subject, later, first))
	q.add(mustEntry(t, subject, later, second))
	if q.size() != 1 {
		t.Fatalf("%d writes wait", q.size())
	}
	next, _ := q.take()
	wantSame(t, mustRecord(t, next.entry), enrich.NewRecord(first, second))

	q.add(mustEntry(t, subject, later, first))
	q.erase(subject)
	if _, ok := q.take(); ok || !q.erasing(subject) {
		t.Error("an erasure leaves the write that it is about")
	}
}

// TestErasuresSurviveARestart forgets while Redis is away and restarts the
// process meanwhile.
func TestErasuresSurviveARestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	config := redisConfig(server)
	config.Redis.ErasuresFile = filepath.Join(t.TempDir(), "erasures")
	key := keyOf(t, "ada@orchard.example.com")
	one := startCache(t, config)
	one.Remember(t.Context(), key, wideRecord(now()), time.Now().Add(time.Hour))
	server.Pause()
	one.remote.writing.leave("the test says so")
	if err := one.Forget(t.Context(), key); err == nil {
		t.Error("an erasure that Redis has not heard of is no error")
	}
	one.Close()
	server.Resume()

	two := startCache(t, config)
	eventually(t, func() bool { return two.Stats().Waiting == 0 })
	if got, _ := two.Recall(t.Context(), key); !got.IsEmpty() {
		t.Error("the restart lost the erasure")
	}
	left, err := journal(config.Redis.ErasuresFile).load()
	if err != nil || len(left) > 0 {
		t.Errorf("%d erasures are left in the file, %v", len(left), err)
	}
}

func TestJournal(t *testing.T) {
	j := journal(filepath.Join(t.TempDir(), "erasures"))
	want := []tag{newTag(), newTag()}
	for _, t2 := range want {
		if err := j.add(t2); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.OpenFile(string(j), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	file.WriteString("0123456789") // cut off by a crash
	file.Close()
	got, err := j.load()
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %d erasures of 2, %v", len(got), err)
	}
	if q := waitingRoom(t, j); !q.erasing(want[0]) || !q.erasing(want[1]) {
		t.Error("the erasures of the file do not wait")
	}
	if err := journal(t.TempDir()).add(want[0]); err == nil {
		t.Error("a folder is taken for the file")
	}
}

func waitingRoom(t *testing.T, j journal) *recovery {
	t.Helper()
	q, err := newRecovery(j)
	if err != nil {
		t.Fatal(err)
	}
	return q
}
