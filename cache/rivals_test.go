package cache

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/dgraph-io/ristretto/v2"
	rivals "github.com/go-redis/cache/v9"
	"github.com/redis/go-redis/v9"

	"github.com/enrichd/enrichd/enrich"
)

// What others would use, to compare with: the composition that needs the least
// code, ristretto under string keys in front of go-redis with its own settings
// and records as JSON; and go-redis/cache, a TinyLFU in front of go-redis with
// records as MessagePack, which it decodes at every hit.

// plainCache is the composition to compare with.
type plainCache struct {
	memory *ristretto.Cache[string, *entry]
	redis  *redis.Client
}

func startPlain(b *testing.B, client *redis.Client) *plainCache {
	b.Helper()
	memory, err := ristretto.NewCache(&ristretto.Config[string, *entry]{NumCounters: 1e7, MaxCost: 1 << 30, BufferItems: 64})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		memory.Close()
		if client != nil {
			client.Close()
		}
	})
	return &plainCache{memory: memory, redis: client}
}

// plainFact is a fact as JSON.
type plainFact struct {
	Attribute, Value, Source string
	FetchedAt                time.Time
	Confidence               float64
	Price                    int64
}

func plainFacts(record enrich.Record) (facts []plainFact) {
	for _, f := range record.Facts() {
		facts = append(facts, plainFact{string(f.Attribute), f.Value.Text(), f.Source, f.FetchedAt, f.Confidence, int64(f.Price)})
	}
	return facts
}

func (p *plainCache) set(b *testing.B, t tag, record enrich.Record) {
	b.Helper()
	encoded, err := json.Marshal(plainFacts(record))
	if err != nil {
		b.Fatal(err)
	}
	if err := p.redis.Set(b.Context(), string(t[:]), encoded, time.Hour).Err(); err != nil {
		b.Fatal(err)
	}
}

func (p *plainCache) get(ctx context.Context, t tag) bool {
	encoded, err := p.redis.Get(ctx, string(t[:])).Bytes()
	var facts []plainFact
	return err == nil && json.Unmarshal(encoded, &facts) == nil && len(facts) > 0
}

// rivalCache is go-redis/cache, in memory or in Redis.
type rivalCache struct{ *rivals.Cache }

func startRival(b *testing.B, client *redis.Client, inMemory int) *rivalCache {
	b.Helper()
	options := &rivals.Options{}
	if client != nil {
		options.Redis = client
	}
	if inMemory > 0 {
		options.LocalCache = rivals.NewTinyLFU(2*inMemory, time.Hour)
	}
	return &rivalCache{rivals.New(options)}
}

func (r *rivalCache) set(b *testing.B, t tag, record enrich.Record) {
	b.Helper()
	key := "rival:" + string(t[:])
	if err := r.Set(&rivals.Item{Ctx: b.Context(), Key: key, Value: plainFacts(record), TTL: time.Hour}); err != nil {
		b.Fatal(err)
	}
}

func (r *rivalCache) get(ctx context.Context, key string) bool {
	var facts []plainFact
	return r.Get(ctx, "rival:"+key, &facts) == nil && len(facts) > 0
}
