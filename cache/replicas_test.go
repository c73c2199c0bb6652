package cache

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/enrichd/enrichd/cache/redistest"
	"github.com/enrichd/enrichd/enrich"
)

// replicas are caches that share one Redis, each of which has heard that it is
// connected.
func replicas(t *testing.T, count int) (*redistest.Server, []*Cache) {
	t.Helper()
	server := redistest.Start(t)
	var caches []*Cache
	for range count {
		c := startCache(t, redisConfig(server))
		caches = append(caches, c)
		eventually(t, func() bool { return c.Stats().Gaps > 0 })
	}
	return server, caches
}

// TestWritesReachOtherReplicas lets one replica learn more than the other has
// in its memory.
func TestWritesReachOtherReplicas(t *testing.T) {
	_, caches := replicas(t, 2)
	one, two := caches[0], caches[1]
	key := keyOf(t, "ada@orchard.example.com")
	first, second := titleBy("alpha", now()), titleBy("beta", now())
	one.Remember(t.Context(), key, enrich.NewRecord(first), time.Now().Add(time.Hour))
	two.Recall(t.Context(), key)
	one.Remember(t.Context(), key, enrich.NewRecord(second), time.Now().Add(time.Hour))
	eventually(t, func() bool {
		got, _ := two.Recall(t.Context(), key)
		return same(got, enrich.NewRecord(first, second))
	})
}

// TestRoundTrips counts the commands that Redis gets for one subject.
func TestRoundTrips(t *testing.T) {
	server, caches := replicas(t, 2)
	one, two := caches[0], caches[1]
	// The scripts are known to Redis after their first use.
	one.Remember(t.Context(), keyOf(t, "first@orchard.example.com"), wideRecord(now()), time.Now().Add(time.Hour))
	_, release := one.Lease(t.Context(), keyOf(t, "first@orchard.example.com"), func(enrich.Record) bool { return false })
	release()

	key := keyOf(t, "ada@orchard.example.com")
	for _, step := range []struct {
		name string
		do   func()
		want int
	}{
		{"a miss, to the answer", func() {
			one.Recall(t.Context(), key)
			_, release := one.Lease(t.Context(), key, func(enrich.Record) bool { return false })
			one.Remember(t.Context(), key, wideRecord(now()), time.Now().Add(time.Hour))
			release()
		}, 3},
		{"a hit in Redis", func() { two.Recall(t.Context(), key) }, 1},
		{"a hit in memory", func() { two.Recall(t.Context(), key); one.Recall(t.Context(), key) }, 0},
	} {
		before := commands(t, server)
		step.do()
		// Each look at the statistics is a command itself.
		if got := commands(t, server) - before - 1; got != step.want {
			t.Errorf("%s takes %d commands, want %d", step.name, got, step.want)
		}
	}
}

// commands is how many commands clients have sent to Redis.
func commands(t *testing.T, server *redistest.Server) (count int) {
	t.Helper()
	direct := directly(t, server)
	for _, line := range strings.Split(direct.Info(t.Context(), "commandstats").Val(), "\r\n") {
		name, stats, _ := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		calls, _, _ := strings.Cut(stats, ",")
		switch name {
		case "evalsha", "getrange", "info":
			number, err := strconv.Atoi(calls)
			if err != nil {
				t.Fatal(err)
			}
			count += number
		}
	}
	return count
}

// TestErasuresReachOtherReplicas erases at one replica what the other has in
// its memory.
func TestErasuresReachOtherReplicas(t *testing.T) {
	_, caches := replicas(t, 2)
	one, two := caches[0], caches[1]
	key := keyOf(t, "ada@orchard.example.com")
	old := enrich.NewRecord(titleBy("alpha", now()))
	one.Remember(t.Context(), key, old, time.Now().Add(time.Hour))
	if got, _ := two.Recall(t.Context(), key); got.IsEmpty() {
		t.Fatal("the replica has nothing to erase")
	}
	if err := one.Forget(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		got, _ := two.Recall(t.Context(), key)
		return got.IsEmpty()
	})
	// A look-up that began before the erasure ends after it.
	two.Remember(t.Context(), key, old, time.Now().Add(time.Hour))
	for _, c := range caches {
		if got, _ := c.Recall(t.Context(), key); !got.IsEmpty() {
			t.Error("a look-up from before the erasure brought the record back")
		}
	}
}

// TestErasureBeatsLoads erases subjects while look-ups about them are under way
// at several replicas, some of which end before and some after.
func TestErasureBeatsLoads(t *testing.T) {
	_, caches := replicas(t, 3)
	var loads sync.WaitGroup
	for i := range 60 {
		key := keyOf(t, fmt.Sprintf("ada.%d@orchard.example.com", i))
		for r, c := range caches {
			loads.Go(func() {
				began := now()
				if r == 0 {
					if err := c.Forget(t.Context(), key); err != nil {
						t.Error(err)
					}
				}
				c.Remember(t.Context(), key, enrich.NewRecord(titleBy(fmt.Sprint("source-", r), began)), time.Now().Add(time.Hour))
			})
		}
	}
	loads.Wait()
	before := now()
	for i := range 60 {
		key := keyOf(t, fmt.Sprintf("ada.%d@orchard.example.com", i))
		if err := caches[1].Forget(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		for _, c := range caches {
			c.Remember(t.Context(), key, enrich.NewRecord(titleBy("late", before)), time.Now().Add(time.Hour))
		}
	}
	for _, c := range caches {
		eventually(t, func() bool {
			for i := range 60 {
				if got, _ := c.Recall(t.Context(), keyOf(t, fmt.Sprintf("ada.%d@orchard.example.com", i))); !got.IsEmpty() {
					return false
				}
			}
			return true
		})
	}
}

// TestLostMessages cuts the connection that brings messages, and changes a
// record meanwhile: the replica looks again once it hears anew.
func TestLostMessages(t *testing.T) {
	server, caches := replicas(t, 2)
	one, two := caches[0], caches[1]
	key := keyOf(t, "ada@orchard.example.com")
	first, second := titleBy("alpha", now()), titleBy("beta", now())
	one.Remember(t.Context(), key, enrich.NewRecord(first), time.Now().Add(time.Hour))
	two.Recall(t.Context(), key)
	gaps := two.Stats().Gaps

	if err := directly(t, server).ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err(); err != nil {
		t.Fatal(err)
	}
	one.Remember(t.Context(), key, enrich.NewRecord(second), time.Now().Add(time.Hour))
	eventually(t, func() bool { return two.Stats().Gaps > gaps })
	got, by := two.Recall(t.Context(), key)
	wantSame(t, got, enrich.NewRecord(first, second))
	if by != enrich.MemoryTier {
		t.Errorf("answered by %q, want what memory had, looked at again", by)
	}
}

// TestMessageHole delivers a message whose number is not the next.
func TestMessageHole(t *testing.T) {
	_, caches := replicas(t, 2)
	two := caches[1]
	subject := newTag()
	var heard heard
	heard.compared = true
	for _, step := range []struct {
		number int64
		missed uint64
	}{{1, 0}, {2, 0}, {4, 1}, {5, 0}, {5, 0}, {3, 0}, {9, 1}} {
		before := two.Stats().Gaps
		two.remote.hear(t.Context(), &heard, messageOf(opReleased, step.number, 0, subject))
		if got := two.Stats().Gaps - before; got != step.missed {
			t.Errorf("message %d: %d gaps, want %d", step.number, got, step.missed)
		}
	}
	for _, foreign := range []string{"", "x", "f", "hello", string(make([]byte, messageSize))} {
		two.remote.hear(t.Context(), &heard, foreign)
	}
}

func messageOf(op byte, number int64, version uint64, t tag) string {
	message := []byte{op}
	message = binary.BigEndian.AppendUint64(message, uint64(number))
	message = binary.BigEndian.AppendUint64(message, version)
	return string(append(message, t[:]...))
}

// TestProviderIsForgotten drops what one provider said, at all replicas.
func TestProviderIsForgotten(t *testing.T) {
	server, caches := replicas(t, 2)
	one, two := caches[0], caches[1]
	both, only := keyOf(t, "ada@orchard.example.com"), keyOf(t, "eve@orchard.example.com")
	dropped, stays := titleBy("alpha", now()), titleBy("beta", now())
	one.Remember(t.Context(), both, enrich.NewRecord(dropped, stays), time.Now().Add(time.Hour))
	one.Remember(t.Context(), only, enrich.NewRecord(dropped), time.Now().Add(time.Hour))
	for _, c := range caches {
		c.Recall(t.Context(), both)
		c.Recall(t.Context(), only)
	}
	if err := one.ForgetProvider(t.Context(), "alpha"); err != nil {
		t.Fatal(err)
	}
	forgotten := func(c *Cache) bool {
		first, _ := c.Recall(t.Context(), both)
		second, by := c.Recall(t.Context(), only)
		return same(first, enrich.NewRecord(stays)) && second.IsEmpty() && by == enrich.NoTier
	}
	if !forgotten(one) {
		t.Error("the replica that was told still uses it")
	}
	eventually(t, func() bool { return forgotten(two) })
	newcomer := startCache(t, redisConfig(server))
	eventually(t, func() bool { return forgotten(newcomer) })

	again := titleBy("alpha", now().Add(time.Second))
	two.Remember(t.Context(), only, enrich.NewRecord(again), time.Now().Add(time.Hour))
	<-time.After(1500 * time.Millisecond)
	latecomer := startCache(t, redisConfig(server))
	eventually(t, func() bool { return latecomer.barriers.until.Load() != nil })
	for _, c := range []*Cache{one, two, latecomer} {
		if got, _ := c.Recall(t.Context(), only); !same(got, enrich.NewRecord(again)) {
			t.Error("what the provider says from then on is dropped too")
		}
	}
	until := latecomer.barriers.until.Load()
	latecomer.remote.loadBarriers(t.Context())
	if latecomer.barriers.until.Load() != until {
		t.Error("barriers that are known are raised again")
	}
}

// TestJoinsBeyondTheLimit lets replicas remember what is too large together.
func TestJoinsBeyondTheLimit(t *testing.T) {
	_, caches := replicas(t, 2)
	key := keyOf(t, "ada@orchard.example.com")
	for i, c := range caches {
		large := titleBy(fmt.Sprint("source-", i), now())
		large.Value = enrich.TextValue(strings.Repeat("x", maxPayload*2/3))
		c.Remember(t.Context(), key, enrich.NewRecord(large), time.Now().Add(time.Hour))
	}
	if got, _ := caches[0].Recall(t.Context(), key); len(got.Facts()) != 1 {
		t.Errorf("recalled %d facts, want the one that came first", len(got.Facts()))
	}
	if stats := caches[1].Stats(); stats.Refused[RefusedOversize] != 1 || stats.Waiting != 0 {
		t.Errorf("refused %d, %d wait", stats.Refused[RefusedOversize], stats.Waiting)
	}
}
