package privacy

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/enrichd/enrichd/cache/redistest"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/redisconn"
)

func redisWithout() redisconn.Config { return redisconn.Config{DB: 1, Password: "x"} }

func directly(t testing.TB, server *redistest.Server) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { client.Close() })
	return client
}

func TestReplicasShareTheList(t *testing.T) {
	server := redistest.Start(t)
	config := Config{Redis: redisOf(server)}
	one, two := startList(t, config), startList(t, config)
	ada, bob := keyOf(t, "ada@orchard.example"), keyOf(t, "bob@orchard.example")
	began := time.Now()
	if kept := add(t, one, ada); kept != (Kept{InRedis: true, Changed: true}) {
		t.Errorf("kept in %+v", kept)
	}
	eventually(t, "the other replica knows", func() bool { return suppressed(t, two, ada) })
	t.Logf("known after %v", time.Since(began))
	add(t, two, bob)
	eventually(t, "the first replica knows", func() bool { return suppressed(t, one, bob) })
	if _, err := two.Remove(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the removal is known", func() bool { return !suppressed(t, one, ada) })
	late := startList(t, config)
	if suppressed(t, late, ada) || !suppressed(t, late, bob) {
		t.Error("a late replica has another list")
	}
	text := strings.Join(directly(t, server).Keys(t.Context(), "*").Val(), " ")
	if text != "enrichd:suppressions" {
		t.Errorf("the keys are %q", text)
	}
}

// TestErasuresWaitForOtherReplicas drops nothing before the others know: what they
// look up until then would stay.
func TestErasuresWaitForOtherReplicas(t *testing.T) {
	config := Config{Redis: redisOf(redistest.Start(t))}
	here, there := startList(t, config), startList(t, config)
	known := 0
	eraser := &Eraser{Tags: NewTagger(pepper), Suppressions: here, Places: []Place{{Name: "cache", Erase: func(_ context.Context, key email.Key) (int, error) {
		if suppressed(t, there, key) {
			known++
		}
		return 0, nil
	}}}}
	const erasures = 3
	for i := range erasures {
		if _, err := eraser.Erase(t.Context(), keyOf(t, fmt.Sprintf("ada%d@orchard.example", i))); err != nil {
			t.Fatal(err)
		}
	}
	if known != erasures {
		t.Errorf("of %d erasures the other replica knew %d before anything was dropped", erasures, known)
	}
}

// TestLongListsAreReadWhole has more than a page.
func TestLongListsAreReadWhole(t *testing.T) {
	server := redistest.Start(t)
	config := Config{Redis: redisOf(server), Suppression: SuppressionConfig{File: filepath.Join(t.TempDir(), "list")}}
	one := startList(t, config)
	const most = 2*pageSize + 10
	one.mu.Lock()
	for i := range most {
		c := change{one.tags.of(fmt.Sprint(i)), stamp(i + 1)}
		one.set(c)
		one.owed[copyRedis][c.tag], one.owed[copyFile][c.tag] = struct{}{}, struct{}{}
	}
	one.mu.Unlock()
	eventually(t, "the copies are told", func() bool { o := one.Owed(); return o[copyRedis] == 0 && o[copyFile] == 0 })
	if two := startList(t, Config{Redis: redisOf(server)}); two.Len() != most {
		t.Errorf("another replica knows %d of %d", two.Len(), most)
	}
	if three := startList(t, Config{Suppression: config.Suppression}); three.Len() != most {
		t.Errorf("the file has %d of %d", three.Len(), most)
	}
}

// TestFailClosed: without a copy that could be read nobody may be looked up.
func TestFailClosed(t *testing.T) {
	server := redistest.Start(t)
	ada := keyOf(t, "ada@orchard.example")
	add(t, startList(t, Config{Redis: redisOf(server)}), ada)
	server.Pause()
	list := startList(t, Config{Redis: redisOf(server)})
	is, err := list.Suppressed(keyOf(t, "bob@orchard.example"))
	if !is || enrich.AsError(err).Kind != enrich.Unavailable {
		t.Errorf("suppressed: %v, %v", is, err)
	}
	if _, err := list.Edition(); !errors.Is(err, errUnknown) {
		t.Errorf("an edition of a list nobody has seen: %v", err)
	}
	if _, err := list.Remove(t.Context(), ada); !errors.Is(err, errUnknown) {
		t.Errorf("somebody is taken off a list nobody has seen: %v", err)
	}
	server.Resume()
	eventually(t, "the list is loaded", func() bool { _, err := list.Suppressed(ada); return err == nil })
	if !suppressed(t, list, ada) {
		t.Error("what was loaded is another list")
	}
}

// TestUnreadableEntries: at start one closes the list, later it is passed over.
func TestUnreadableEntries(t *testing.T) {
	server := redistest.Start(t)
	running := startList(t, Config{Redis: redisOf(server)})
	direct := directly(t, server)
	id, err := direct.XAdd(t.Context(), &redis.XAddArgs{Stream: "enrichd:suppressions", Values: []string{"c", "hello"}}).Result()
	if err != nil {
		t.Fatal(err)
	}
	ada := keyOf(t, "ada@orchard.example")
	add(t, running, ada)
	var log logged
	starting, err := NewSuppressions(Config{Pepper: pepper, Redis: redisOf(server)}, log.logger())
	if err != nil {
		t.Fatal(err)
	}
	defer starting.Close()
	if _, err := starting.Suppressed(ada); err == nil || !strings.Contains(log.String(), id) {
		t.Errorf("a list with an unreadable entry is loaded: %v, %s", err, &log)
	}
	if !suppressed(t, running, ada) {
		t.Error("a running list is stopped by it")
	}
	if err := direct.XDel(t.Context(), "enrichd:suppressions", id).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is loaded without the entry", func() bool { _, err := starting.Suppressed(ada); return err == nil })
	other, err := NewSuppressions(Config{Pepper: "quite another pepper", Redis: redisOf(server)}, silent())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Suppressed(ada); err == nil {
		t.Error("a list of another pepper is loaded")
	}
}

// TestFaults breaks Redis while two replicas, one with a file, go on with what
// they know, and heals it: their lists join.
func TestFaults(t *testing.T) {
	for name, fault := range map[string]struct {
		start       []string
		strike, end func(*redistest.Server)
		password    string
	}{
		"frozen":                     {nil, (*redistest.Server).Pause, (*redistest.Server).Resume, ""},
		"killed and restarted empty": {nil, (*redistest.Server).Kill, (*redistest.Server).Restart, ""},
		"emptied":                    {nil, func(s *redistest.Server) { s.Do("FLUSHALL") }, func(*redistest.Server) {}, ""},
		"full": {
			[]string{"--maxmemory-policy", "noeviction"},
			func(s *redistest.Server) { s.Do("CONFIG", "SET", "maxmemory", "1") },
			func(s *redistest.Server) { s.Do("CONFIG", "SET", "maxmemory", "0") }, "",
		},
		"read-only": {
			nil, func(s *redistest.Server) { s.Do("REPLICAOF", "127.0.0.1", "1") },
			func(s *redistest.Server) { s.Do("REPLICAOF", "NO", "ONE") }, "",
		},
		"another password": {
			[]string{"--user", "keeper", "on", ">keeping", "~enrichd:suppressions", "+@connection", "+xadd", "+xrange", "+xlen"},
			func(s *redistest.Server) {
				s.Do("ACL", "SETUSER", "keeper", "resetpass", ">another")
				s.Do("CLIENT", "KILL", "USER", "keeper")
			},
			func(s *redistest.Server) { s.Do("ACL", "SETUSER", "keeper", "resetpass", ">keeping") }, "keeping",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, fault.start...)
			config := Config{Redis: redisOf(server)}
			if fault.password != "" {
				config.Redis.Username, config.Redis.Password = "keeper", fault.password
			}
			filed := config
			filed.Suppression.File = filepath.Join(t.TempDir(), "list")
			one, two := startList(t, config), startList(t, filed)
			before, first, second := keyOf(t, "ada@orchard.example"), keyOf(t, "bob@orchard.example"), keyOf(t, "cy@orchard.example")
			add(t, one, before)
			eventually(t, "both know the first", func() bool { return suppressed(t, two, before) && two.Owed()[copyFile] == 0 })

			fault.strike(server)
			kept, err := one.Add(t.Context(), first)
			if kept.InRedis == (err != nil) || kept.Pending == (err == nil) {
				t.Errorf("one copy: kept in %+v, %v", kept, err)
			}
			if kept := add(t, two, second); !kept.InFile || kept.Pending == kept.InRedis {
				t.Errorf("two copies: kept in %+v", kept)
			}
			if !suppressed(t, one, before) || !suppressed(t, one, first) || !suppressed(t, two, before) || !suppressed(t, two, second) {
				t.Error("a list does not go on from its copy")
			}
			restarted := startList(t, Config{Suppression: filed.Suppression})
			if !suppressed(t, restarted, before) || !suppressed(t, restarted, second) {
				t.Error("the file alone does not do")
			}
			restarted.Close()

			fault.end(server)
			eventually(t, "the lists join", func() bool {
				return suppressed(t, one, second) && suppressed(t, two, first) && one.Owed()[copyRedis]+two.Owed()[copyRedis]+two.Owed()[copyFile] == 0
			})
			if late := startList(t, config); late.Len() != 3 {
				t.Errorf("a late replica knows %d of 3", late.Len())
			}
		})
	}
}

// TestWhoIsErasedAfterALiftStaysErased, though the replica that erases has not heard
// of the lift, or the one that lifted has a clock that is ahead.
func TestWhoIsErasedAfterALiftStaysErased(t *testing.T) {
	server := redistest.Start(t)
	config := func() Config {
		return Config{Redis: redisOf(server), Suppression: SuppressionConfig{File: filepath.Join(t.TempDir(), "list")}}
	}
	here, there := startList(t, config()), startList(t, config())
	ada, bob, eve := keyOf(t, "ada@orchard.example"), keyOf(t, "bob@orchard.example"), keyOf(t, "eve@orchard.example")
	lift := func(key email.Key) {
		t.Helper()
		add(t, here, key)
		eventually(t, "the other replica knows", func() bool { return suppressed(t, there, key) })
		if _, err := there.Remove(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	both := func(name string, key email.Key) {
		t.Helper()
		eventually(t, "the copies agree", func() bool { return here.Owed()[copyRedis]+there.Owed()[copyRedis] == 0 })
		time.Sleep(3 * pollEvery)
		if !suppressed(t, here, key) || !suppressed(t, there, key) {
			t.Errorf("%s: suppressed here: %v, there: %v", name, suppressed(t, here, key), suppressed(t, there, key))
		}
	}

	lift(ada)
	add(t, here, ada)
	both("at once", ada)

	lift(bob)
	ahead := change{there.tags.Tag(bob), -stamp(time.Now().Add(time.Hour).UnixMicro())}
	if err := there.merge(ahead, ""); err != nil {
		t.Fatal(err)
	}
	eventually(t, "Redis knows of the lift", func() bool { return there.Owed()[copyRedis] == 0 })
	add(t, here, bob)
	both("a clock that is ahead", bob)

	add(t, here, eve)
	eventually(t, "the other replica knows", func() bool { return suppressed(t, there, eve) })
	server.Kill()
	if _, err := there.Remove(t.Context(), eve); err != nil {
		t.Fatal(err)
	}
	if kept, err := here.Add(t.Context(), eve); err != nil || !kept.Pending {
		t.Fatal(kept, err)
	}
	server.Restart()
	both("while Redis was away", eve)
}
