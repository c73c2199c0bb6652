package cache

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

func BenchmarkDecode(b *testing.B) {
	e := mustEntry(b, newTag(), time.Now().Add(time.Hour), usualRecord(now()).Facts()...)
	b.ReportMetric(float64(len(e.payload)), "bytes")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.record(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	record := usualRecord(now())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := encodeRecord(record); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMemoryHit recalls entries with the key ready: few that are asked for
// often, and many at random.
func BenchmarkMemoryHit(b *testing.B) {
	for _, bench := range []struct {
		name     string
		subjects int
		decode   bool
	}{
		{"hot", 1000, false},
		{"hot decoded", 1000, true},
		{"100000", 100_000, false},
		{"100000 decoded", 100_000, true},
	} {
		b.Run(bench.name, func(b *testing.B) {
			c := startCache(b, Config{MemoryBytes: 1 << 30})
			m := c.memory.(*memory)
			record := usualRecord(now())
			var tags []tag
			for range bench.subjects {
				subject := newTag()
				m.remember(b.Context(), mustEntry(b, subject, time.Now().Add(time.Hour), record.Facts()...))
				tags = append(tags, subject)
			}
			m.settle()
			b.ReportAllocs()
			b.ResetTimer()
			var seed atomic.Uint64
			b.RunParallel(func(pb *testing.PB) {
				random := rand.New(rand.NewPCG(seed.Add(1), 0))
				for pb.Next() {
					subject := tags[random.IntN(len(tags))]
					if bench.decode {
						if _, by := c.recall(b.Context(), subject); by != enrich.MemoryTier {
							b.Error("miss")
						}
					} else if m.recall(b.Context(), subject) == nil {
						b.Error("miss")
					}
				}
			})
		})
	}
}

// BenchmarkRecall includes what makes a tag of an address.
func BenchmarkRecall(b *testing.B) {
	c := startCache(b, Config{})
	key := keyOf(b, "ada@orchard.example.com")
	c.Remember(b.Context(), key, usualRecord(now()), time.Now().Add(time.Hour))
	b.ReportAllocs()
	for b.Loop() {
		if _, by := c.Recall(b.Context(), key); by != enrich.MemoryTier {
			b.Fatal("miss")
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
