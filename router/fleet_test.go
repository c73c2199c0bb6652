package router_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/providers/fakevendor"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
	"github.com/enrichd/enrichd/quota"
	"github.com/enrichd/enrichd/redisconn"
	"github.com/enrichd/enrichd/router"
)

const (
	vendorName = "peopledatalabs"
	title      = enrich.Attribute("person.title")
)

// fleet is three replicas of router and quota that share a Redis, and a strict
// vendor behind pipes, all inside the test's bubble.
type fleet struct {
	vendors    *fakevendor.Server
	replicas   []*replica
	normalizer *email.Normalizer
	leads      atomic.Int64
	began      time.Time

	mu    sync.Mutex
	waits map[string][]time.Duration // by account: from the question to the answer
	ended time.Time                  // when the last lead was answered
}

// replica is one process, but for the edge and the cache.
type replica struct {
	quota  *quota.Keeper
	router *router.Router
	wire   *wire
}

// usual is how long vendors take to answer, if nothing else is said.
var usual = fakevendor.Latency{Median: 120 * time.Millisecond, Sigma: 0.4}

// newFleet starts a vendor with these habits and three replicas that know its
// limits.
func newFleet(t *testing.T, vendor fakevendor.Vendor, limits ...enrich.Limit) *fleet {
	t.Helper()
	vendor.Data = &fakevendor.Data{}
	vendor.Limits.Hint.Form = "seconds"
	vendor.Limits.Silent = true
	if vendor.Faults.Latency == (fakevendor.Latency{}) {
		vendor.Faults.Latency = usual
	}
	if vendor.Limits.Bans == nil {
		vendor.Limits.Bans = []strict.Ban{}
	}
	vendors, err := fakevendor.New(fakevendor.Config{Seed: 1, Vendors: map[string]fakevendor.Vendor{vendorName: vendor}})
	if err != nil {
		t.Fatal(err)
	}
	pipe := fakevendor.NewPipe()
	serving, stopServing := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- vendors.Serve(serving, pipe) }()
	t.Cleanup(func() {
		stopServing()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	redis := miniredis.NewMiniRedis()
	t.Cleanup(func() {
		redis.Close()
		time.Sleep(2 * time.Second) // go-redis looks once more for a lost server
	})
	normalizer, err := email.New(email.Config{})
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{vendors: vendors, normalizer: normalizer, began: time.Now(), waits: map[string][]time.Duration{}}
	ways := &ways{pipe: pipe, random: rand.New(rand.NewPCG(7, 8))}
	for range 3 {
		f.replicas = append(f.replicas, newReplica(t, ways, redis, limits))
	}
	return f
}

func newReplica(t *testing.T, ways *ways, redis *miniredis.Miniredis, limits []enrich.Limit) *replica {
	t.Helper()
	r := &replica{wire: &wire{redis: redis}}
	set, err := providers.New(providers.Config{List: []providers.ProviderConfig{{
		Definition: vendorName, BaseURL: "http://127.0.0.1:1/" + vendorName, AllowPrivate: true, Credentials: map[string]string{"api_key": "k"},
	}}}, providers.Options{Dial: ways.dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Close)
	r.quota, err = quota.New(quota.Config{Redis: quota.RedisConfig{Config: redisconn.Config{Addresses: []string{"127.0.0.1:6379"}}}},
		map[string][]enrich.Limit{vendorName: limits}, quota.Options{Dialer: r.wire.dial, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.quota.Close() }) // it may be cut off
	vendor := set.Vendors()[0]
	r.router, err = router.New(router.Parts{Quota: r.quota, Providers: []router.Provider{{
		Name: vendor.Name(), Lookup: vendor, Timeout: vendor.Timeout(),
		Calls: []router.Call{{Operation: "person", Kind: enrich.Person, Supplies: map[enrich.Attribute]router.Supply{title: {Confidence: 0.9}}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.router.Close(context.Background()) })
	return r
}

// try asks for a lead nobody asked for before until it is answered, and tells
// whether it was before ctx ended. A caller who is told when to come back does;
// others come back soon.
func (f *fleet) try(ctx context.Context, r *replica, account string, lane enrich.Lane) bool {
	address, err := f.normalizer.Normalize(fmt.Sprintf("lead.number%d@acme.example", f.leads.Add(1)))
	if err != nil {
		panic(err)
	}
	ask := enrich.Ask{
		Subject: enrich.PersonSubject(address),
		Needs:   []enrich.Need{{Attribute: title, Sources: []string{vendorName}}},
		Account: enrich.Account{Name: account}, Lane: lane,
	}
	began := time.Now()
	for {
		found := r.router.Find(ctx, ask)
		if len(found.Failed) == 0 {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.ended = time.Now()
			f.waits[account] = append(f.waits[account], time.Since(began))
			return true
		}
		rest := 2 * time.Second
		if found.Err != nil {
			rest = max(rest, time.Until(found.Err.ReadyAt))
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(rest):
		}
	}
}

// drain has so many leads wait at the replicas that enter says until all are
// answered.
func (f *fleet) drain(leads int, enter func(i int) int) {
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	f.began = time.Now()
	var all sync.WaitGroup
	for i := range leads {
		all.Go(func() { f.try(ctx, f.replicas[enter(i)%len(f.replicas)], "import", enrich.Bulk) })
	}
	all.Wait()
}

// patient is how long the leads of an import may wait.
const patient = 3 * time.Hour

func inTurn(i int) int { return i }
func atOne(int) int    { return 0 }

// drained is the time until the last answer.
func (f *fleet) drained() time.Duration { return f.ended.Sub(f.began) }

func (f *fleet) summary() fakevendor.Summary { return f.vendors.Summary(vendorName) }

// per10k is how many calls of 10,000 the vendor's limits refused.
func (f *fleet) per10k() float64 {
	s := f.summary()
	return float64(s.RateLimited) * 10_000 / float64(max(s.Calls, 1))
}

// p95 of an account's waits in seconds.
func (f *fleet) p95(account string) float64 {
	waits := slices.Sorted(slices.Values(f.waits[account]))
	if len(waits) == 0 {
		return 0
	}
	return waits[min(len(waits)*95/100, len(waits)-1)].Seconds()
}

// trips is how often a script was asked for in Redis.
func (f *fleet) trips() (sum int64) {
	for _, r := range f.replicas {
		sum += r.wire.scripts.Load()
	}
	return sum
}

// ways are the network to the vendor: every message takes 5 to 60 ms, 13 in the
// mean.
type ways struct {
	pipe *fakevendor.Pipe

	mu     sync.Mutex
	random *rand.Rand
}

func (w *ways) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := w.pipe.DialContext(ctx, network, address)
	return &farConn{Conn: conn, ways: w}, err
}

func (w *ways) take() {
	w.mu.Lock()
	way := 5*time.Millisecond + time.Duration(w.random.ExpFloat64()*float64(8*time.Millisecond))
	w.mu.Unlock()
	time.Sleep(min(way, 60*time.Millisecond))
}

type farConn struct {
	net.Conn
	ways *ways
}

func (c *farConn) Write(p []byte) (int, error) {
	c.ways.take()
	return c.Conn.Write(p)
}

func (c *farConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.ways.take()
	}
	return n, err
}

// wire is a replica's way to Redis: 0.6 ms there and back. It can be cut.
type wire struct {
	redis   *miniredis.Miniredis
	scripts atomic.Int64

	mu    sync.Mutex
	down  bool
	conns []net.Conn
}

func (w *wire) dial(context.Context, string, string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		return nil, net.ErrClosed
	}
	conn, err := w.redis.Dial()
	if err != nil {
		return nil, err
	}
	w.conns = append(w.conns, conn)
	return &wireConn{Conn: conn, wire: w}, nil
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = true
	for _, conn := range w.conns {
		_ = conn.Close()
	}
}

type wireConn struct {
	net.Conn
	wire *wire
}

func (c *wireConn) Write(p []byte) (int, error) {
	c.wire.scripts.Add(int64(bytes.Count(p, []byte("evalsha"))))
	time.Sleep(600 * time.Microsecond)
	return c.Conn.Write(p)
}
