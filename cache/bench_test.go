package cache

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/enrichd/enrichd/cache/redistest"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/record"
)

// The benchmarks report the processor time of an operation besides the usual
// figures: on a machine that does much else it is the one that can be compared.
// "plain" and "go-redis/cache" are what others would use, see rivals_test.go.

// measureCPU reports the processor time of an operation.
func measureCPU(b *testing.B) (stop func()) {
	spent := func() time.Duration {
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			b.Fatal(err)
		}
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	before := spent()
	return func() { b.ReportMetric(float64(spent()-before)/float64(b.N), "cpu-ns/op") }
}

func BenchmarkDecode(b *testing.B) {
	e := mustEntry(b, newTag(), time.Now().Add(time.Hour), usualRecord(now()).Facts()...)
	b.ReportAllocs()
	defer measureCPU(b)()
	for b.Loop() {
		if _, err := e.record(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(e.payload)), "bytes")
}

func BenchmarkEncode(b *testing.B) {
	usual := usualRecord(now())
	b.ReportAllocs()
	defer measureCPU(b)()
	for b.Loop() {
		if _, err := record.Encode(usual); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMemoryHit recalls from memory with the tag ready: few subjects that
// are asked for often, and many at random.
func BenchmarkMemoryHit(b *testing.B) {
	b.Run("hot", func(b *testing.B) { benchmarkMemoryHit(b, 1000) })
	b.Run("100000", func(b *testing.B) { benchmarkMemoryHit(b, 100_000) })
}

func benchmarkMemoryHit(b *testing.B, subjects int) {
	c := startCache(b, Config{MemoryBytes: 1 << 30})
	m := c.memory.(*memory)
	plain, rival := startPlain(b, nil), startRival(b, nil, subjects)
	var tags []tag
	var keys []string
	for range subjects {
		subject := newTag()
		record := usualRecord(now())
		e := mustEntry(b, subject, time.Now().Add(time.Hour), record.Facts()...)
		m.remember(b.Context(), e)
		rival.set(b, subject, record)
		plain.memory.SetWithTTL(string(subject[:]), e, int64(len(e.payload)), time.Hour)
		plain.memory.Wait()
		tags, keys = append(tags, subject), append(keys, string(subject[:]))
	}
	settle(m)
	for _, bench := range []struct {
		name string
		hit  func(at int) bool
	}{
		{"plain", func(at int) bool { _, ok := plain.memory.Get(keys[at]); return ok }},
		{"go-redis/cache", func(at int) bool { return rival.get(b.Context(), keys[at]) }},
		{"encoded", func(at int) bool { return m.recall(b.Context(), tags[at]) != nil }},
		{"record", func(at int) bool {
			near, current := c.near(b.Context(), tags[at])
			return current && !c.read(near).IsEmpty()
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			var seed, missed atomic.Uint64
			defer measureCPU(b)()
			b.RunParallel(func(pb *testing.PB) {
				random := rand.New(rand.NewPCG(seed.Add(1), 0))
				for pb.Next() {
					if !bench.hit(random.IntN(subjects)) {
						missed.Add(1)
					}
				}
			})
			// A rival's admission may turn some away; a hit is what is measured.
			if missed.Load() > uint64(b.N/50) {
				b.Errorf("%d of %d missed", missed.Load(), b.N)
			}
		})
	}
}

// BenchmarkRecall includes what makes a tag of an address.
func BenchmarkRecall(b *testing.B) {
	c := startCache(b, Config{})
	key := keyOf(b, "ada@orchard.example.com")
	c.Remember(b.Context(), key, usualRecord(now()), time.Now().Add(time.Hour))
	b.ReportAllocs()
	defer measureCPU(b)()
	for b.Loop() {
		if _, by := c.Recall(b.Context(), key); by != enrich.MemoryTier {
			b.Fatal("miss")
		}
	}
}

// BenchmarkRedisHit recalls from Redis, over the network and over its socket.
func BenchmarkRedisHit(b *testing.B) {
	socket := filepath.Join(b.TempDir(), "redis")
	server := redistest.Start(b, "--unixsocket", socket)
	b.Run("network", func(b *testing.B) { benchmarkRedisHit(b, server) })
	beside := *server
	beside.Addr = socket
	b.Run("socket", func(b *testing.B) { benchmarkRedisHit(b, &beside) })
}

// benchmarkRedisHit recalls singly, by many at once, and in batches.
func benchmarkRedisHit(b *testing.B, server *redistest.Server) {
	r := startRemote(b, server, patient)
	plain := startPlain(b, redis.NewClient(&redis.Options{Addr: server.Addr}))
	rival := startRival(b, plain.redis, 0)
	var tags []tag
	var batch []asked
	for range batchSize {
		subject, record := newTag(), usualRecord(now())
		r.remember(b.Context(), mustEntry(b, subject, time.Now().Add(time.Hour), record.Facts()...))
		plain.set(b, subject, record)
		rival.set(b, subject, record)
		tags, batch = append(tags, subject), append(batch, askedOf(0, subject, nil))
	}
	for _, bench := range []struct {
		name string
		hit  func(ctx context.Context, at int) bool
	}{
		{"GET alone", func(ctx context.Context, at int) bool {
			return plain.redis.Get(ctx, r.keys.entry(tags[at])).Err() == nil
		}},
		{"plain", func(ctx context.Context, at int) bool { return plain.get(ctx, tags[at]) }},
		{"go-redis/cache", func(ctx context.Context, at int) bool { return rival.get(ctx, string(tags[at][:])) }},
		{"encoded", func(ctx context.Context, at int) bool { return r.recall(ctx, tags[at]) != nil }},
		{"record", func(ctx context.Context, at int) bool {
			found := r.recall(ctx, tags[at])
			if found == nil {
				return false
			}
			_, err := found.record()
			return err == nil
		}},
	} {
		b.Run("one/"+bench.name, func(b *testing.B) {
			b.ReportAllocs()
			defer measureCPU(b)()
			var took []time.Duration
			for at := 0; b.Loop(); at++ {
				begun := time.Now()
				if !bench.hit(b.Context(), at%len(tags)) {
					b.Fatal("miss")
				}
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2]), "p50-ns")
		})
		b.Run("64/"+bench.name, func(b *testing.B) {
			b.SetParallelism(32)
			defer measureCPU(b)()
			b.RunParallel(func(pb *testing.PB) {
				for at := 0; pb.Next(); at++ {
					if !bench.hit(b.Context(), at%len(tags)) {
						b.Error("miss")
					}
				}
			})
		})
	}
	b.Run("batch of 100/encoded", func(b *testing.B) {
		defer measureCPU(b)()
		for b.Loop() {
			found, err := r.recallBatch(b.Context(), batch)
			if err != nil || slices.Contains(found, nil) {
				b.Fatal("miss")
			}
		}
	})
}

// BenchmarkRedisAway recalls a subject that is not in memory while Redis is
// gone: what a request pays for it.
func BenchmarkRedisAway(b *testing.B) {
	server := redistest.Start(b)
	r := startRemote(b, server, usualPatience)
	server.Kill()
	for range 2 * tripCalls {
		r.recall(b.Context(), newTag())
	}
	subject := newTag()
	defer measureCPU(b)()
	for b.Loop() {
		if r.recall(b.Context(), subject) != nil {
			b.Fatal("hit")
		}
	}
}

// usualRecord is a record as one vendor leaves it.
func usualRecord(at time.Time) enrich.Record {
	var facts []enrich.Fact
	for _, spec := range enrich.AttributesOf(enrich.Person) {
		fact := enrich.Fact{Attribute: spec, Source: "alpha", FetchedAt: at, Confidence: 0.7, Price: 9000}
		fact.State, fact.Value = enrich.StateValue, enrich.TextValue("Brunhilde Sägewerk, "+string(spec))
		facts = append(facts, fact)
	}
	return enrich.NewRecord(facts...)
}
