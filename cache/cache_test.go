package cache

import (
	"testing"
	"time"

	"github.com/enrichd/enrichd/cache/redistest"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

func TestMemoryAlone(t *testing.T) {
	c := startCache(t, Config{})
	key, record := keyOf(t, "ada@orchard.example.com"), enrich.NewRecord(titleBy("alpha", now()))
	if got, by := c.Recall(t.Context(), key); !got.IsEmpty() || by != enrich.NoTier {
		t.Fatalf("recalled %v by %q at first", got, by)
	}
	c.Remember(t.Context(), key, record, time.Now().Add(time.Hour))
	got, by := c.Recall(t.Context(), key)
	if by != enrich.MemoryTier {
		t.Errorf("recalled by %q", by)
	}
	wantSame(t, got, record)
	if got, _ := c.Recall(t.Context(), keyOf(t, "eve@orchard.example.com")); !got.IsEmpty() {
		t.Error("recalled another's record")
	}
	if err := c.Forget(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if got, _ := c.Recall(t.Context(), key); !got.IsEmpty() {
		t.Error("recalled what was forgotten")
	}
	stats := c.Stats()
	if stats.MemoryHits != 1 || stats.Misses != 3 {
		t.Errorf("counted %d hits and %d misses", stats.MemoryHits, stats.Misses)
	}
}

// TestRedisOutlivesTheProcess recalls from Redis after a restart, and then
// from memory.
func TestRedisOutlivesTheProcess(t *testing.T) {
	config := redisConfig(redistest.Start(t))
	key, record := keyOf(t, "ada@orchard.example.com"), wideRecord(now())
	before := startCache(t, config)
	before.Remember(t.Context(), key, record, time.Now().Add(time.Hour))
	before.Close()

	after := startCache(t, config)
	for _, want := range []enrich.Tier{enrich.RedisTier, enrich.MemoryTier} {
		got, by := after.Recall(t.Context(), key)
		if by != want {
			t.Fatalf("recalled by %q, want %q", by, want)
		}
		wantSame(t, got, record)
	}
}

// TestReplicasJoin lets two replicas learn different facts.
func TestReplicasJoin(t *testing.T) {
	config := redisConfig(redistest.Start(t))
	one, two := startCache(t, config), startCache(t, config)
	key := keyOf(t, "ada@orchard.example.com")
	first, second := titleBy("alpha", now()), titleBy("beta", now())
	one.Remember(t.Context(), key, enrich.NewRecord(first), time.Now().Add(time.Hour))
	two.Remember(t.Context(), key, enrich.NewRecord(second), time.Now().Add(time.Hour))
	got, _ := two.Recall(t.Context(), key)
	wantSame(t, got, enrich.NewRecord(first, second))
}

// TestPepperSeparates shares a Redis between installations of different
// peppers.
func TestPepperSeparates(t *testing.T) {
	config := redisConfig(redistest.Start(t))
	key := keyOf(t, "ada@orchard.example.com")
	startCache(t, config).Remember(t.Context(), key, wideRecord(now()), time.Now().Add(time.Hour))
	config.Redis.Pepper = "quite another pepper"
	if _, by := startCache(t, config).Recall(t.Context(), key); by != enrich.NoTier {
		t.Error("one pepper opens what another hid")
	}
}

func TestJitterOnlyShortens(t *testing.T) {
	c := startCache(t, Config{Jitter: 0.2})
	ends := map[time.Duration]bool{}
	for range 200 {
		left := time.Until(c.early(newTag(), time.Now().Add(time.Hour))).Round(time.Second)
		if left > time.Hour || left < 48*time.Minute-time.Second {
			t.Fatalf("an hour becomes %v", left)
		}
		ends[left] = true
	}
	if len(ends) < 50 {
		t.Errorf("200 subjects end at only %d different times", len(ends))
	}
}

// TestRecordsBeyondTheLimitAreNotKept offers a record larger than any entry.
func TestRecordsBeyondTheLimitAreNotKept(t *testing.T) {
	c := startCache(t, Config{})
	key := keyOf(t, "ada@orchard.example.com")
	huge := titleBy("alpha", now())
	huge.Value = enrich.TextValue(string(make([]byte, maxPayload)))
	c.Remember(t.Context(), key, enrich.NewRecord(huge), time.Now().Add(time.Hour))
	if got, _ := c.Recall(t.Context(), key); !got.IsEmpty() {
		t.Error("kept it")
	}
	if c.Stats().Refused[RefusedOversize] != 1 {
		t.Error("did not count it")
	}
}

func TestNothingOfNoSubject(t *testing.T) {
	c := startCache(t, Config{})
	c.Remember(t.Context(), email.Key{}, wideRecord(now()), time.Now().Add(time.Hour))
	if got, _ := c.Recall(t.Context(), email.Key{}); !got.IsEmpty() {
		t.Error("the zero key has a record")
	}
}

// TestCloseDoesNotWaitForLeases that nobody has released, nor for their renewal.
func TestCloseDoesNotWaitForLeases(t *testing.T) {
	t.Parallel()
	_, caches := replicas(t, 1)
	never := func(enrich.Record) bool { return false }
	caches[0].Lease(t.Context(), keyOf(t, "ada@orchard.example.com"), never)
	held := keyOf(t, "eve@orchard.example.com")
	caches[0].Lease(t.Context(), held, never)
	caches[0].Hold(held, t.Context().Done())
	began := time.Now()
	if err := caches[0].Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > renewAfter(leaseLasts)/2 {
		t.Errorf("took %v", took)
	}
	caches[0].Hold(held, t.Context().Done()) // begins nothing any more
}

func startCache(t testing.TB, config Config) *Cache {
	t.Helper()
	c, err := newCache(config, patient, silent())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func keyOf(t testing.TB, address string) email.Key {
	t.Helper()
	normalizer, err := email.New(email.Config{})
	if err != nil {
		t.Fatal(err)
	}
	normalized, err := normalizer.Normalize(address)
	if err != nil {
		t.Fatal(err)
	}
	return normalized.Key()
}
