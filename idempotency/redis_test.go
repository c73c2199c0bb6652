package idempotency

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/enrichd/enrichd/cache/redistest"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/redisconn"
)

func redisAt(addresses ...string) redisconn.Config {
	return redisconn.Config{Addresses: addresses, Username: user(addresses), Password: user(addresses)}
}

// user makes a configuration without addresses a wrong one.
func user(addresses []string) string {
	if len(addresses) == 0 {
		return "x"
	}
	return ""
}

func sharedConfig(server *redistest.Server) Config {
	return Config{Pepper: pepper, Redis: redisAt(server.Addr)}
}

func directly(t testing.TB, server *redistest.Server) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { client.Close() })
	return client
}

func TestReplicasShareAnswers(t *testing.T) {
	server := redistest.Start(t)
	one, two := startStore(t, sharedConfig(server)), startStore(t, sharedConfig(server))
	ada := keyOf(t, "ada@orchard.example")
	want(t, one, "key", 1, about("about ada", ada), "about ada")
	want(t, two, "key", 1, never(t), "about ada")
	if _, err := two.Do(t.Context(), "sales", "key", [32]byte{2}, never(t)); reasonOf(err) != ReasonReused {
		t.Errorf("another request at the other replica: %v", err)
	}
	if dropped, err := two.EraseSubject(t.Context(), ada); dropped != 1 || err != nil {
		t.Errorf("%d dropped, %v", dropped, err)
	}
	times := 0
	want(t, one, "key", 1, does("nobody", &times), "nobody")
	if times != 1 {
		t.Error("an erased answer is given")
	}
}

func TestOfTwoReplicasOneWorks(t *testing.T) {
	server := redistest.Start(t)
	var times atomic.Int64
	began, goOn := make(chan struct{}), make(chan struct{})
	var asking sync.WaitGroup
	ask := func(store *Store) {
		got, err := store.Do(t.Context(), "sales", "key", [32]byte{1}, func(context.Context) ([]byte, []email.Key, error) {
			if times.Add(1) == 1 {
				close(began)
			}
			<-goOn
			return []byte("answer"), nil, nil
		})
		if err != nil || string(got) != "answer" {
			t.Errorf("%q, %v", got, err)
		}
	}
	one, two := startStore(t, sharedConfig(server)), startStore(t, sharedConfig(server))
	asking.Go(func() { ask(one) })
	<-began
	asking.Go(func() { ask(two) })
	if _, err := two.Do(t.Context(), "sales", "other", [32]byte{2}, does("x", new(int))); err != nil {
		t.Error(err)
	}
	hurried, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	third := startStore(t, sharedConfig(server))
	if _, err := third.Do(hurried, "sales", "key", [32]byte{1}, never(t)); reasonOf(err) != ReasonInProgress {
		t.Errorf("who has no time has %v", err)
	}
	if _, err := third.Do(t.Context(), "sales", "key", [32]byte{2}, never(t)); reasonOf(err) != ReasonReused {
		t.Errorf("another request beside it: %v", err)
	}
	close(goOn)
	asking.Wait()
	if times.Load() != 1 {
		t.Errorf("worked %d times", times.Load())
	}
}

// TestACrashFreesTheKey leaves the lock of a worker that does not renew it, and
// shortens its rest.
func TestACrashFreesTheKey(t *testing.T) {
	server := redistest.Start(t)
	one, two := startStore(t, sharedConfig(server)), startStore(t, sharedConfig(server))
	of := one.secrets.id("sales", "key")
	crashed, found, err := one.shared.acquire(t.Context(), of, one.secrets.mark(of, [32]byte{1}))
	if crashed == nil || found != nil || err != nil {
		t.Fatal("not locked")
	}
	direct := directly(t, server)
	if ttl := direct.PTTL(t.Context(), one.shared.keyOf(of)).Val(); ttl <= 0 || ttl > lockFor {
		t.Errorf("the lock ends after %v", ttl)
	}
	direct.PExpire(t.Context(), one.shared.keyOf(of), 100*time.Millisecond)
	want(t, two, "key", 1, does("answer", new(int)), "answer")
	// The worker had only been frozen: it is given the answer that is out.
	earlier, err := crashed.complete(t.Context(), &kept{id: of, mark: crashed.mark, answer: []byte("late"), until: time.Now().Add(time.Hour)})
	if string(earlier) != "answer" || err != nil {
		t.Errorf("a late worker gives %q, %v", earlier, err)
	}
}

func TestALockIsRenewedAndGivenBack(t *testing.T) {
	server := redistest.Start(t)
	store := startStore(t, sharedConfig(server))
	direct := directly(t, server)
	of := store.secrets.id("sales", "key")
	key := store.shared.keyOf(of)
	held, _, err := store.shared.acquire(t.Context(), of, store.secrets.mark(of, [32]byte{1}))
	if err != nil || held == nil {
		t.Fatal("not locked")
	}
	direct.PExpire(t.Context(), key, lockFor/2)
	stop := held.renew()
	eventually(t, "it is renewed", func() bool { return direct.PTTL(t.Context(), key).Val() > lockFor/2 })
	stop()
	if direct.Exists(t.Context(), key).Val() != 0 {
		t.Error("it is not given back")
	}
	direct.Set(t.Context(), key, "L of another", 0)
	held.renew()()
	if direct.Get(t.Context(), key).Val() != "L of another" {
		t.Error("another's lock is given back")
	}
}

// TestWhatLiesInRedis has no name, no key and no answer that can be read.
func TestWhatLiesInRedis(t *testing.T) {
	server := redistest.Start(t)
	store := startStore(t, sharedConfig(server))
	want(t, store, "ada@orchard.example 7", 1, about("about ada@orchard.example", keyOf(t, "ada@orchard.example")), "about ada@orchard.example")
	direct := directly(t, server)
	keys := direct.Keys(t.Context(), "*").Val()
	if len(keys) != 2 {
		t.Errorf("the keys are %v", keys)
	}
	for _, key := range keys {
		if ttl := direct.PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > 25*time.Hour {
			t.Errorf("%s ends after %v", key, ttl)
		}
		dump := direct.Dump(t.Context(), key).Val()
		if !strings.HasPrefix(key, "enrichd:idem") || strings.Contains(key+dump, "ada") || strings.Contains(key+dump, "orchard") {
			t.Errorf("%s tells of somebody", key)
		}
	}
}

// TestBytesThatAreNotOurs are worked again and replaced.
func TestBytesThatAreNotOurs(t *testing.T) {
	server := redistest.Start(t)
	var log logged
	store, err := New(sharedConfig(server), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	direct := directly(t, server)
	of := store.secrets.id("sales", "key")
	key, m := store.shared.keyOf(of), store.secrets.mark(of, [32]byte{1})
	moved := string(kindAnswer) + string(m[:]) + string(store.secrets.seal(store.secrets.id("sales", "other"), m, []byte("x")))
	for name, value := range map[string]string{
		"a text": "hello", "nothing": "", "a damaged answer": string(kindAnswer) + string(m[:]) + "damaged", "another's answer": moved,
	} {
		direct.Set(t.Context(), key, value, 0)
		times := 0
		want(t, store, "key", 1, does("answer", &times), "answer")
		want(t, store, "key", 1, does("answer", &times), "answer")
		if times != 1 {
			t.Errorf("%s: worked %d times", name, times)
		}
	}
	if !strings.Contains(log.String(), "damaged") {
		t.Errorf("the log says %s", &log)
	}
	direct.Del(t.Context(), key)
	direct.LPush(t.Context(), key, "a list")
	want(t, store, "key", 1, does("answer", new(int)), "answer")
	want(t, store, "key", 1, never(t), "answer") // from memory
}

// TestFaults breaks Redis: requests go on, repeats here stay repeats, and
// afterwards replicas share again.
func TestFaults(t *testing.T) {
	for name, fault := range map[string]struct {
		start       []string
		strike, end func(*redistest.Server)
		user        string
	}{
		"frozen": {nil, (*redistest.Server).Pause, (*redistest.Server).Resume, ""},
		"killed": {nil, (*redistest.Server).Kill, (*redistest.Server).Restart, ""},
		"full": {
			[]string{"--maxmemory-policy", "noeviction"},
			func(s *redistest.Server) { s.Do("CONFIG", "SET", "maxmemory", "1") },
			func(s *redistest.Server) { s.Do("CONFIG", "SET", "maxmemory", "0") }, "",
		},
		"another password": {
			append([]string{"--user", "keeper", "on", ">keeping", "~enrichd:idem*"}, leastRights...),
			func(s *redistest.Server) {
				s.Do("ACL", "SETUSER", "keeper", "resetpass", ">another")
				s.Do("CLIENT", "KILL", "USER", "keeper")
			},
			func(s *redistest.Server) { s.Do("ACL", "SETUSER", "keeper", "resetpass", ">keeping") }, "keeper",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, fault.start...)
			config := sharedConfig(server)
			if fault.user != "" {
				config.Redis.Username, config.Redis.Password = fault.user, "keeping"
			}
			one, two := startStore(t, config), startStore(t, config)
			ada := keyOf(t, "ada@orchard.example")
			eventually(t, "replicas share", func() bool { // on a busy machine the first calls may take too long
				return sharesNow(t, one, two, ada)
			})
			fault.strike(server)
			want(t, one, "during", 1, about("during", ada), "during")
			for range 100 {
				want(t, one, "during", 1, never(t), "during")
			}
			if one.shared.rests.Load() == 0 {
				t.Error("a Redis that fails is not left alone")
			}
			if _, err := one.EraseSubject(t.Context(), ada); err == nil && name != "full" {
				t.Error("an erasure that reached nobody has no error")
			}
			want(t, one, "during", 1, does("worked again", new(int)), "worked again")
			fault.end(server)
			eventually(t, "replicas share again", func() bool { return sharesNow(t, one, two, keyOf(t, "bob@orchard.example")) })
			eventually(t, "the erasure is done", func() bool { _, err := one.EraseSubject(t.Context(), ada); return err == nil })
		})
	}
}

// leastRights are what an ACL user needs.
var leastRights = strings.Fields("+@connection +get +set +del +exists +pexpire +zadd +zrange +zremrangebyscore +eval +evalsha")

var round atomic.Int64

// sharesNow tells whether what one replica answers is repeated by the other.
func sharesNow(t *testing.T, one, two *Store, subject email.Key) bool {
	key := time.Duration(round.Add(1)).String()
	want(t, one, key, 1, about("answer", subject), "answer")
	times := 0
	want(t, two, key, 1, does("answer", &times), "answer")
	return times == 0
}
