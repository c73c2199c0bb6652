package cache

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/cache/redistest"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

// Recall recalls one subject.
func (c *Cache) Recall(ctx context.Context, key email.Key) (enrich.Record, enrich.Tier) {
	recalled := c.RecallAll(ctx, []email.Key{key})[0]
	return recalled.Record, recalled.Tier
}

// TestRecallAll recalls subjects from memory, from Redis and from nowhere, in
// one batch and in order.
func TestRecallAll(t *testing.T) {
	server, caches := replicas(t, 2)
	one, two := caches[0], caches[1]
	var keys []email.Key
	var want []enrich.Recalled
	for i := range 250 {
		key, fact := keyOf(t, fmt.Sprintf("ada.%d@orchard.example.com", i)), titleBy(fmt.Sprint("source-", i), now())
		keys = append(keys, key)
		switch i % 3 {
		case 0:
			two.Remember(t.Context(), key, enrich.NewRecord(fact), time.Now().Add(time.Hour))
			want = append(want, enrich.Recalled{Record: enrich.NewRecord(fact), Tier: enrich.MemoryTier})
		case 1:
			one.Remember(t.Context(), key, enrich.NewRecord(fact), time.Now().Add(time.Hour))
			want = append(want, enrich.Recalled{Record: enrich.NewRecord(fact), Tier: enrich.RedisTier})
		default:
			want = append(want, enrich.Recalled{})
		}
	}
	keys, want = append(keys, email.Key{}), append(want, enrich.Recalled{})

	trips := reads(t, server)
	got := two.RecallAll(t.Context(), keys)
	for i := range want {
		if got[i].Tier != want[i].Tier || !same(got[i].Record, want[i].Record) {
			t.Fatalf("subject %d: got %d facts from %q, want those from %q", i, len(got[i].Record.Facts()), got[i].Tier, want[i].Tier)
		}
	}
	if trips := reads(t, server) - trips; trips > 20 {
		t.Errorf("Redis read %d times from its connections", trips)
	}
	for i, again := range two.RecallAll(t.Context(), keys) {
		if want[i].Tier != enrich.NoTier && again.Tier != enrich.MemoryTier {
			t.Fatalf("subject %d: recalled by %q the second time", i, again.Tier)
		}
	}
}

// TestRecallAllDespiteForeignValues has one of a batch that Redis refuses to read,
// and one that is none of ours: the others are recalled.
func TestRecallAllDespiteForeignValues(t *testing.T) {
	server, caches := replicas(t, 2)
	one, two := caches[0], caches[1]
	record := wideRecord(now())
	var keys []email.Key
	for i := range 5 {
		key := keyOf(t, fmt.Sprintf("ada.%d@orchard.example.com", i))
		one.Remember(t.Context(), key, record, time.Now().Add(time.Hour))
		keys = append(keys, key)
	}
	direct, name := directly(t, server), func(i int) string { return one.remote.keys.entry(one.tagger.tag(keys[i])) }
	direct.Del(t.Context(), name(1))
	direct.RPush(t.Context(), name(1), "not ours")
	direct.Set(t.Context(), name(3), "not ours", 0)
	for i, got := range two.RecallAll(t.Context(), keys) {
		if foreign := i == 1 || i == 3; got.Record.IsEmpty() != foreign || !foreign && !same(got.Record, record) {
			t.Errorf("subject %d: recalled %d facts by %q", i, len(got.Record.Facts()), got.Tier)
		}
	}
}

// TestWarmRestart asks nothing of a new process: what its predecessor was
// asked for is in its memory, be it that only its answers were kept.
func TestWarmRestart(t *testing.T) {
	server, caches := replicas(t, 1)
	var keys []email.Key
	for i := range 120 {
		key := keyOf(t, fmt.Sprintf("ada.%d@orchard.example.com", i))
		caches[0].Remember(t.Context(), key, wideRecord(now()), time.Now().Add(time.Hour))
		caches[0].Recall(t.Context(), key)
		keys = append(keys, key)
		if i%2 == 0 {
			rendered(t, caches[0], enrich.Fingerprint{uint64(i), 1}, time.Now().Add(time.Hour), enrich.About{key})
		}
	}
	caches[0].Close()

	after := startCache(t, redisConfig(server))
	eventually(t, func() bool {
		warm := 0
		for _, key := range keys {
			if after.memory.recall(t.Context(), after.tagger.tag(key)) != nil {
				warm++
			}
		}
		return warm > len(keys)*3/4 // two subjects may share a slot
	})
}

// reads is how often Redis has read from a connection.
func reads(t *testing.T, server *redistest.Server) int {
	t.Helper()
	_, rest, _ := strings.Cut(directly(t, server).Info(t.Context(), "stats").Val(), "total_reads_processed:")
	count, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]))
	if err != nil {
		t.Fatal(err)
	}
	return count
}
