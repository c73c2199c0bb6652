package cache

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/enrichd/enrichd/cache/redistest"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

// TestFaults breaks Redis in ways of its own while requests go on, and heals
// it: no call waits for long, what memory knows is recalled all the time, and
// what was remembered meanwhile reaches the other replicas at last.
func TestFaults(t *testing.T) {
	for name, fault := range map[string]struct {
		start       []string
		strike, end func(*testing.T, *redistest.Server)
		remedy      func(*Config)
	}{
		"paused for five seconds": {
			strike: func(_ *testing.T, s *redistest.Server) { s.Pause() },
			end: func(_ *testing.T, s *redistest.Server) {
				<-time.After(5 * time.Second)
				s.Resume()
			},
		},
		"killed and restarted empty": {
			strike: func(_ *testing.T, s *redistest.Server) { s.Kill() },
			end:    func(_ *testing.T, s *redistest.Server) { s.Restart() },
		},
		"full": {
			start:  []string{"--maxmemory-policy", "noeviction"},
			strike: func(_ *testing.T, s *redistest.Server) { s.Do("CONFIG", "SET", "maxmemory", "1") },
			end:    func(_ *testing.T, s *redistest.Server) { s.Do("CONFIG", "SET", "maxmemory", "0") },
		},
		"read-only": {
			strike: func(_ *testing.T, s *redistest.Server) { s.Do("REPLICAOF", "127.0.0.1", "1") },
			end:    func(_ *testing.T, s *redistest.Server) { s.Do("REPLICAOF", "NO", "ONE") },
		},
		"another password": {
			start: append([]string{"--user", "keeper", "on", ">keeping"}, leastRights...),
			strike: func(t *testing.T, s *redistest.Server) {
				s.Do("ACL", "SETUSER", "keeper", "resetpass", ">another")
				s.Do("CLIENT", "KILL", "USER", "keeper")
			},
			end: func(_ *testing.T, s *redistest.Server) {
				s.Do("ACL", "SETUSER", "keeper", "resetpass", ">keeping")
			},
			remedy: func(c *Config) { c.Redis.Username, c.Redis.Password = "keeper", "keeping" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, fault.start...)
			config := redisConfig(server)
			if fault.remedy != nil {
				fault.remedy(&config)
			}
			endure(t, config,
				func() { fault.strike(t, server) },
				func() { fault.end(t, server) })
		})
	}
}

// TestWrongPasswordAtStart goes on without Redis until the password is right, and
// then tells it what was learned meanwhile.
func TestWrongPasswordAtStart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, append([]string{"--user", "keeper", "on", ">another"}, leastRights...)...)
	config := redisConfig(server)
	config.Redis.Username, config.Redis.Password = "keeper", "keeping"
	one := startCache(t, config)
	key, record := keyOf(t, "ada@orchard.example.com"), wideRecord(now())
	_, release := one.Lease(t.Context(), key, func(enrich.Record) bool { return false })
	defer release()
	one.Remember(t.Context(), key, record, time.Now().Add(time.Hour))
	if got, by := one.Recall(t.Context(), key); by != enrich.MemoryTier || !same(got, record) {
		t.Errorf("recalled %d facts by %q", len(got.Facts()), by)
	}
	server.Do("ACL", "SETUSER", "keeper", "resetpass", ">keeping")
	two := startCache(t, config)
	eventually(t, func() bool {
		got, by := two.Recall(t.Context(), key)
		return by != enrich.NoTier && same(got, record)
	})
}

// leastRights are what an ACL user needs, as docs/cache.md says.
var leastRights = strings.Fields("~enrichd:* &enrichd:* +@connection +get +getrange +set +del +type +time +incr " +
	"+publish +subscribe +pttl +pexpire +expire +hset +hgetall +zadd +zrevrange +zremrangebyrank +eval +evalsha")

// endure has one replica go on through a fault.
func endure(t *testing.T, config Config, strike, end func()) {
	t.Helper()
	one, err := New(config, silent())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { one.Close() })
	two := startCache(t, config)
	settled, record := keyOf(t, "ada@orchard.example.com"), wideRecord(now())
	eventually(t, func() bool { // on a busy machine the first calls may take too long
		one.Remember(t.Context(), settled, record, time.Now().Add(time.Hour))
		got, by := two.Recall(t.Context(), settled)
		return by != enrich.NoTier && same(got, record)
	})

	strike()
	var keys []email.Key
	var slowest time.Duration
	timed := func(call func()) {
		began := time.Now()
		call()
		slowest = max(slowest, time.Since(began))
	}
	for i := range 100 {
		key := keyOf(t, fmt.Sprintf("ada.%d@orchard.example.com", i))
		keys = append(keys, key)
		timed(func() {
			if got, by := one.Recall(t.Context(), settled); by != enrich.MemoryTier || !same(got, record) {
				t.Fatalf("memory does not go on: %d facts from %q", len(got.Facts()), by)
			}
		})
		timed(func() { one.Recall(t.Context(), key) })
		timed(func() {
			_, release := one.Lease(t.Context(), key, func(enrich.Record) bool { return false })
			defer release()
			one.Remember(t.Context(), key, record, time.Now().Add(time.Hour))
		})
		if got, _ := one.Recall(t.Context(), key); !same(got, record) {
			t.Fatal("what was remembered during the fault is forgotten")
		}
	}
	if slowest > 5*time.Second { // several times what is waited for, on a busy machine
		t.Errorf("a call took %v", slowest)
	}
	if one.Stats().RedisFailures == 0 {
		t.Error("there was no fault")
	}

	end()
	eventually(t, func() bool { return one.Stats().Waiting == 0 })
	eventually(t, func() bool {
		for _, key := range keys {
			if got, _ := two.Recall(t.Context(), key); !same(got, record) {
				return false
			}
		}
		return true
	})
}

// TestSlowNetwork delays every answer, by less and by more than a recall waits.
func TestSlowNetwork(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	line := delay(t, server.Addr)
	config := redisConfig(server)
	config.Redis.Addresses = []string{line.addr}
	endure(t, config,
		func() { line.set(time.Second) },
		func() { line.set(0) })
}

// TestSlowRedisStillLeases has Redis answer too late for every recall, not for a
// lease: replicas that are asked about the same subjects pay for each once.
func TestSlowRedisStillLeases(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	line := delay(t, server.Addr)
	config := redisConfig(server)
	config.Redis.Addresses = []string{line.addr}
	var caches []*Cache
	for range 3 {
		c, err := newCache(config, patience{recall: 20 * time.Millisecond, store: 20 * time.Second}, silent())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		caches = append(caches, c)
	}
	line.set(60 * time.Millisecond)
	v := &vendor{takes: 200 * time.Millisecond}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var callers sync.WaitGroup
	const subjects = 40
	for i := range subjects {
		key := keyOf(t, fmt.Sprintf("ada.%d@orchard.example.com", i))
		for _, c := range caches {
			callers.Go(func() { v.lookUp(ctx, c, key) })
		}
	}
	callers.Wait()
	if calls := v.calls.Load(); calls != subjects {
		t.Errorf("%d calls about %d subjects", calls, subjects)
	}
	for _, c := range caches {
		if c.Stats().Unleased > 0 || c.remote.writing.away.Load() {
			t.Error("a slow Redis counts as one that is away")
		}
		eventually(t, func() bool { // recalls do not wait for it any more
			c.remote.recall(ctx, newTag())
			return c.remote.reading.away.Load()
		})
	}
}

// line is a connection that takes its time.
type line struct {
	addr string
	mu   sync.Mutex
	by   time.Duration
}

func (l *line) set(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by = by
}

func (l *line) wait() <-chan time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.After(l.by)
}

// delay forwards connections to a server and delays what it answers.
func delay(t *testing.T, to string) *line {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{addr: listener.Addr().String()}
	var running sync.WaitGroup
	var open sync.Map
	t.Cleanup(func() {
		listener.Close()
		open.Range(func(conn, _ any) bool { conn.(net.Conn).Close(); return true })
		running.Wait()
	})
	carry := func(from, to net.Conn, wait func() <-chan time.Time) {
		defer from.Close()
		defer to.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			<-wait()
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	running.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			open.Store(near, true)
			open.Store(far, true)
			running.Go(func() { carry(near, far, func() <-chan time.Time { return time.After(0) }) })
			running.Go(func() { carry(far, near, l.wait) })
		}
	})
	return l
}

// TestSentinelFailover kills the master: the cache follows the replica that is
// promoted.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	master, _, sentinel := redistest.StartSentinel(t, "records")
	config := redisConfig(sentinel)
	config.Redis.Master = "records"
	failover(t, config, master)
}

// TestClusterFailover kills one of three masters.
func TestClusterFailover(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, 3)
	config := redisConfig(nodes[0])
	for _, other := range nodes[1:] {
		config.Redis.Addresses = append(config.Redis.Addresses, other.Addr)
	}
	failover(t, config, nodes[0])
}

// failover kills a server for good, after which all subjects must be served
// again, with nothing lost that replicas had taken or that waited.
func failover(t *testing.T, config Config, victim *redistest.Server) {
	t.Helper()
	one, err := New(config, silent())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { one.Close() })
	var keys []email.Key
	record := wideRecord(now())
	for i := range 60 {
		key := keyOf(t, fmt.Sprintf("ada.%d@orchard.example.com", i))
		keys = append(keys, key)
		one.Remember(t.Context(), key, record, time.Now().Add(time.Hour))
	}
	eventually(t, func() bool { return one.Stats().Waiting == 0 })
	victim.Kill()
	for _, key := range keys {
		if got, _ := one.Recall(t.Context(), key); !same(got, record) {
			t.Fatal("memory does not go on")
		}
		one.Remember(t.Context(), key, enrich.NewRecord(titleBy("gamma", now())), time.Now().Add(time.Hour))
	}
	eventually(t, func() bool { return one.Stats().Waiting == 0 })
	two := startCache(t, config)
	eventually(t, func() bool {
		for _, key := range keys {
			if got, by := two.Recall(t.Context(), key); by == enrich.NoTier || len(got.Facts()) != len(record.Facts())+1 {
				return false
			}
		}
		return true
	})
}
