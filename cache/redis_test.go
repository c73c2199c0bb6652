package cache

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/redis/go-redis/v9"

	"github.com/enrichd/enrichd/cache/redistest"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/redisconn"
)

// TestRedisBytesThatAreNotOurs puts into Redis what none of our programs of
// this schema would: it is a miss, it is counted, and it does not stand in the
// way of a new record.
func TestRedisBytesThatAreNotOurs(t *testing.T) {
	server := redistest.Start(t)
	r := startRemote(t, server, patient)
	direct := directly(t, server)
	fact := titleBy("alpha", now())
	valid := func(subject tag) []byte {
		return mustEntry(t, subject, time.Now().Add(time.Hour), fact).seal(nil)
	}
	for name, test := range map[string]struct {
		put  func(ctx context.Context, key string, subject tag) error
		want Refusal // "": refused by Redis, so counted as a failure
	}{
		"a text": {func(ctx context.Context, key string, _ tag) error {
			return direct.Set(ctx, key, "not ours", 0).Err()
		}, RefusedForeign},
		"a list": {func(ctx context.Context, key string, _ tag) error {
			return direct.RPush(ctx, key, "not ours").Err()
		}, ""},
		"ten megabytes": {func(ctx context.Context, key string, subject tag) error {
			return direct.Set(ctx, key, string(valid(subject))+strings.Repeat("x", 10<<20), 0).Err()
		}, RefusedOversize},
		"a damaged entry": {func(ctx context.Context, key string, subject tag) error {
			damaged := valid(subject)
			damaged[len(damaged)-1]++
			return direct.Set(ctx, key, damaged, 0).Err()
		}, RefusedDamaged},
		"an entry of another schema": {func(ctx context.Context, key string, subject tag) error {
			other := valid(subject)
			other[5]++
			return direct.Set(ctx, key, other, 0).Err()
		}, RefusedSchema},
		"an entry from the future": {func(ctx context.Context, key string, subject tag) error {
			e := mustEntry(t, subject, time.Now().Add(time.Hour), fact)
			e.version = uint64(time.Now().Add(48 * time.Hour).UnixMicro())
			return direct.Set(ctx, key, e.seal(nil), 0).Err()
		}, RefusedFuture},
		"a decompression bomb": {func(ctx context.Context, key string, subject tag) error {
			bomb := append(valid(subject)[:headerSize], s2.Encode(nil, make([]byte, 64<<20))...)
			bomb[7] |= flagCompressed
			binary.BigEndian.PutUint32(bomb[28:], checksum(bomb))
			return direct.Set(ctx, key, bomb, 0).Err()
		}, RefusedDamaged},
		"another subject's entry": {func(ctx context.Context, key string, _ tag) error {
			return direct.Set(ctx, key, valid(newTag()), 0).Err()
		}, RefusedForeign},
	} {
		t.Run(name, func(t *testing.T) {
			subject := newTag()
			if err := test.put(t.Context(), r.keys.entry(subject), subject); err != nil {
				t.Fatal(err)
			}
			before := r.stats.snapshot()
			if r.recall(t.Context(), subject) != nil {
				t.Fatal("recalled it")
			}
			after := r.stats.snapshot()
			if test.want == "" && after.RedisFailures != before.RedisFailures+1 {
				t.Error("not counted as a failure")
			}
			if test.want != "" && after.Refused[test.want] != before.Refused[test.want]+1 {
				t.Errorf("not counted as %s: %v", test.want, after.Refused)
			}
			_, release := r.lease(t.Context(), subject, nil, func(*entry) bool { return true })
			if r.stats.snapshot().Leased != before.Leased+1 {
				t.Error("no lease is given")
			}
			release()
			r.remember(t.Context(), mustEntry(t, subject, time.Now().Add(time.Hour), fact))
			if got := r.recall(t.Context(), subject); got == nil {
				t.Error("a new record cannot be kept")
			}
		})
	}
}

// TestSchemasSideBySide shares a Redis with a program of another age: neither
// sees the other's records, and either erases both.
func TestSchemasSideBySide(t *testing.T) {
	server := redistest.Start(t)
	r := startRemote(t, server, patient)
	direct := directly(t, server)
	subject := newTag()
	newer := r.keys.of(subject, schemaSuffix[schema+1])[0]
	if err := direct.Set(t.Context(), newer, "of a newer program", 0).Err(); err != nil {
		t.Fatal(err)
	}
	mine := mustEntry(t, subject, time.Now().Add(time.Hour), titleBy("alpha", now()))
	r.remember(t.Context(), mine)
	if got := r.recall(t.Context(), subject); got == nil || got.payload != mine.payload {
		t.Error("a newer program's record stands in the way")
	}
	if direct.Get(t.Context(), newer).Val() != "of a newer program" {
		t.Error("a newer program's record was changed")
	}
	if err := r.forget(t.Context(), subject); err != nil {
		t.Fatal(err)
	}
	if left := direct.Exists(t.Context(), newer).Val(); left != 0 {
		t.Error("the newer program's record is still there")
	}
}

// TestRedisAway starts without Redis, which then comes, goes and comes again.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	r := startRemote(t, server, patient)
	subject, fact := newTag(), titleBy("alpha", now())
	e := mustEntry(t, subject, time.Now().Add(time.Hour), fact)
	if kept := r.remember(t.Context(), e); kept != e {
		t.Error("an entry that cannot be stored is not returned as it is")
	}
	server.Restart()
	eventually(t, func() bool { return !r.reading.away.Load() && !r.writing.away.Load() })
	subject = newTag() // the other one is given back some time after the return
	r.remember(t.Context(), mustEntry(t, subject, time.Now().Add(time.Hour), fact))
	if r.recall(t.Context(), subject) == nil {
		t.Fatal("Redis is not used from when it is there")
	}

	server.Kill()
	for range 2 * tripCalls {
		if r.recall(t.Context(), subject) != nil {
			t.Fatal("recalled from a dead Redis")
		}
	}
	if !r.reading.away.Load() {
		t.Error("a dead Redis is still asked")
	}
	server.Restart()
	eventually(t, func() bool { return !r.reading.away.Load() })
	if r.recall(t.Context(), subject) != nil {
		t.Error("an empty Redis recalls")
	}
}

// TestRedisHangs pauses Redis: the first twenty requests wait for no longer than
// each may, and then none waits, be it for a recall, a lease or a write.
func TestRedisHangs(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := startRemote(t, server, usualPatience)
	server.Pause()
	defer server.Resume()
	request := func() {
		subject := newTag()
		r.recall(t.Context(), subject)
		_, release := r.lease(t.Context(), subject, nil, func(*entry) bool { return false })
		r.remember(t.Context(), mustEntry(t, subject, time.Now().Add(time.Hour), titleBy("alpha", now())))
		release()
	}
	for range tripCalls {
		request()
	}
	if !r.reading.away.Load() || !r.writing.away.Load() {
		t.Fatal("a hanging Redis is still asked")
	}
	began := time.Now()
	for range 1000 {
		request()
	}
	if took := time.Since(began); took > 1000*usualPatience.recall/2 {
		t.Errorf("a thousand requests took %v: they wait", took)
	}
	server.Resume()
	eventually(t, func() bool { return !r.reading.away.Load() && !r.writing.away.Load() })
}

// pauses is a hook that pauses a server when it says that it has lost a script.
type pauses struct{ *redistest.Server }

func (pauses) DialHook(next redis.DialHook) redis.DialHook { return next }

func (p pauses) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		err := next(ctx, command)
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			p.Pause()
		}
		return err
	}
}

func (pauses) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// TestRedisHangsAfterItLostItsScripts waits no longer for the script that is sent
// again than for any other, however patient the connection is.
func TestRedisHangsAfterItLostItsScripts(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client, err := redisConfig(server).Redis.Client(redisconn.Options{Patience: 20 * time.Second, PoolSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	writes := &together{UniversalClient: client, patience: time.Second}
	t.Cleanup(func() { writes.Close() })
	writes.AddHook(pauses{server})
	defer server.Resume()
	began := time.Now()
	err = renewScript.Run(t.Context(), writes, []string{"a lease"}, "mine", 1).Err()
	if took := time.Since(began); err == nil || took > 10*time.Second {
		t.Errorf("ended with %v after %v", err, took)
	}
	server.Resume()
	eventually(t, func() bool { return renewScript.Run(t.Context(), writes, []string{"a lease"}, "mine", 1).Err() == nil })
}

// TestConnectionsAreOpenBeforeTheyAreNeeded holds for reading and for writing.
func TestConnectionsAreOpenBeforeTheyAreNeeded(t *testing.T) {
	t.Parallel()
	r := startRemote(t, redistest.Start(t), patient)
	for _, client := range []redis.UniversalClient{r.reads, r.writes} {
		if client.PoolStats().TotalConns == 0 {
			t.Error("no connection is open at start")
		}
		eventually(t, func() bool { return client.PoolStats().TotalConns >= ready })
	}
}

// TestRedisOverTLS speaks to a Redis that wants a certificate.
func TestRedisOverTLS(t *testing.T) {
	server, files := redistest.StartTLS(t)
	config := redisConfig(server)
	config.Redis.TLS = redisconn.TLS{Enabled: true, CAFile: files.CA, CertFile: files.Cert, KeyFile: files.Key}
	key, record := keyOf(t, "ada@orchard.example.com"), wideRecord(now())
	startCache(t, config).Remember(t.Context(), key, record, time.Now().Add(time.Hour))
	if got, by := startCache(t, config).Recall(t.Context(), key); by != enrich.RedisTier || !same(got, record) {
		t.Errorf("recalled %d facts by %q", len(got.Facts()), by)
	}
	config.Redis.TLS = redisconn.TLS{Enabled: true, CAFile: files.CA}
	if _, by := startCache(t, config).Recall(t.Context(), key); by != enrich.NoTier {
		t.Error("spoke to it without a certificate")
	}
}

// TestLeastRights does everything that a cache does with Redis, as a user who
// may do only what the documentation says.
func TestLeastRights(t *testing.T) {
	server := redistest.Start(t, append([]string{"--user", "keeper", "on", ">keeping"}, leastRights...)...)
	config := redisConfig(server)
	config.Redis.Username, config.Redis.Password = "keeper", "keeping"
	c := startCache(t, config)
	key := keyOf(t, "ada@orchard.example.com")
	never := func(enrich.Record) bool { return false }
	for range 2 {
		_, release := c.Lease(t.Context(), key, never)
		release()
		c.Lease(t.Context(), key, never)
		c.Remember(t.Context(), key, wideRecord(now()), time.Now().Add(time.Hour))
		c.Recall(t.Context(), key)
		c.RecallAll(t.Context(), []email.Key{keyOf(t, "eve@orchard.example.com")})
	}
	if err := renewScript.Run(t.Context(), c.remote.writes, c.remote.keys.of(newTag(), leaseKey), "mine", 1).Err(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(c.ForgetProvider(t.Context(), "alpha"), c.Forget(t.Context(), key)); err != nil {
		t.Error(err)
	}
	c.remote.loadBarriers(t.Context())
	c.Close()
	if failures := c.Stats().RedisFailures; failures > 0 {
		t.Errorf("%d calls to Redis failed", failures)
	}
}

// TestRedisNeverSeesAnAddress looks at every byte that lies in Redis.
func TestRedisNeverSeesAnAddress(t *testing.T) {
	server := redistest.Start(t)
	c := startCache(t, redisConfig(server))
	key := keyOf(t, "canary@garden.example.com")
	c.Remember(t.Context(), key, enrich.NewRecord(titleBy("alpha", now())), time.Now().Add(time.Hour))
	if err := c.Forget(t.Context(), keyOf(t, "canary@other.example.com")); err != nil {
		t.Fatal(err)
	}
	direct := directly(t, server)
	keys := direct.Keys(t.Context(), "*").Val()
	if len(keys) < 2 {
		t.Fatalf("%d keys in Redis, want a record and an erasure", len(keys))
	}
	for _, name := range keys {
		dump := direct.Dump(t.Context(), name).Val()
		for _, text := range []string{name, dump} {
			if strings.Contains(text, "canary") || strings.Contains(text, "example.com") {
				t.Errorf("a key or value holds the address: %q", name)
			}
		}
		if !strings.HasPrefix(name, "enrichd:") {
			t.Errorf("key %q lacks the prefix", name)
		}
		if ttl := direct.PTTL(t.Context(), name).Val(); ttl <= 0 && !strings.HasSuffix(name, ":sequence") {
			t.Errorf("key %q never expires", name)
		}
	}
}

// directly returns a client of the test's own.
func directly(t testing.TB, server *redistest.Server) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { client.Close() })
	return client
}
