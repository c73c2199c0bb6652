package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/enrichd/enrichd/cache/redistest"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/providers/fakevendor"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

const vendorName = "peopledatalabs"

// strictVendor serves one vendor that allows 200 calls in 5 seconds.
func strictVendor(t *testing.T) (*fakevendor.Server, string) {
	t.Helper()
	vendors, err := fakevendor.New(fakevendor.Config{Seed: 1, Vendors: map[string]fakevendor.Vendor{vendorName: {
		Data:   &fakevendor.Data{},
		Limits: fakevendor.Limits{Rules: []strict.Limit{{Name: "rate", Shape: "fixed", Amount: 200, Window: 5 * time.Second}}, Bans: []strict.Ban{}},
		Faults: fakevendor.Faults{Latency: fakevendor.Latency{Median: 100 * time.Millisecond, Sigma: 0.3}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- vendors.Serve(ctx, listener) }()
	t.Cleanup(func() { cancel(); <-served })
	return vendors, "http://" + listener.Addr().String()
}

// member is one replica, which keeps its addresses over a restart.
type member struct {
	t          *testing.T
	grpc, http string
	file       string
	process    *exec.Cmd
	log        *bytes.Buffer
}

func (m *member) start() {
	m.t.Helper()
	m.log = &bytes.Buffer{}
	m.process = program(m.t, "serve", "--config", m.file)
	m.process.Stderr = m.log
	if err := m.process.Start(); err != nil {
		m.t.Fatal(err)
	}
	deadline, tick := time.After(30*time.Second), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for {
		if answer, err := http.Get("http://" + m.http + "/readyz"); err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-tick.C:
		case <-deadline:
			_ = m.process.Process.Kill()
			_ = m.process.Wait()
			m.t.Fatalf("a replica is not ready: %s", m.log)
		}
	}
}

// stop asks the replica to end, as a deploy does, and waits until it has.
func (m *member) stop() {
	m.t.Helper()
	if err := m.process.Process.Signal(syscall.SIGTERM); err != nil {
		m.t.Error(err)
	}
	if err := m.process.Wait(); err != nil {
		m.t.Errorf("a replica ended with %v: %s", err, m.log)
	}
}

// freeAddress is a port of the loopback interface on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// startMembers starts replicas that share a Redis and call the vendor.
func startMembers(t *testing.T, count int, vendor, redis string) (members []*member) {
	t.Helper()
	for range count {
		m := &member{t: t, grpc: freeAddress(t), http: freeAddress(t), file: filepath.Join(t.TempDir(), "enrichd.yaml")}
		text := fmt.Sprintf(`
server: {grpc: %q, http: %q}
cache: {redis: {addresses: [%q], pepper: a pepper for tests only}}
quota: {redis: {addresses: [%q]}}
router: {patience: {bulk: 40s}}
providers:
  list:
    - definition: %s
      base_url: %s/%s
      allow_private: true
      credentials: {api_key: k}
      limits: [{name: rate, shape: fixed, amount: 200, window: 5s}]
`, m.grpc, m.http, redis, redis, vendorName, vendor, vendorName)
		if err := os.WriteFile(m.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m.start()
		members = append(members, m)
	}
	return members
}

// traffic asks about ever new leads over all replicas in turn, until it is
// stopped. gRPC asks again by itself only where a request was not accepted.
type traffic struct {
	client   enrichv1.EnrichServiceClient
	close    func()
	answered atomic.Int64
	mu       sync.Mutex
	failures []failure
}

// failure is a request that failed at a replica.
type failure struct {
	replica string
	err     error
}

func newTraffic(t *testing.T, members []*member) *traffic {
	t.Helper()
	replicas := manual.NewBuilderWithScheme("replicas")
	var state resolver.State
	for _, m := range members {
		state.Addresses = append(state.Addresses, resolver.Address{Addr: m.grpc})
	}
	replicas.InitialState(state)
	connection, err := grpc.NewClient("replicas:///", grpc.WithResolvers(replicas), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return &traffic{client: enrichv1.NewEnrichServiceClient(connection), close: func() { _ = connection.Close() }}
}

// run has callers ask one lead after the other while work goes on, and returns
// when all is answered. There are enough of them to keep the vendor's limit busy,
// on a machine of any speed.
func (tr *traffic) run(ctx context.Context, name string, work func()) {
	working, done := context.WithCancel(ctx)
	go func() { defer done(); work() }()
	var asking sync.WaitGroup
	for caller := range 24 {
		asking.Go(func() {
			for i := 0; working.Err() == nil; i++ {
				tr.ask(ctx, fmt.Sprintf("%s.lead%d.%d@acme%d.example", name, caller, i, i))
			}
		})
	}
	asking.Wait()
}

func (tr *traffic) ask(ctx context.Context, email string) {
	var at peer.Peer
	_, err := tr.client.Enrich(ctx, &enrichv1.EnrichRequest{
		Subject: &enrichv1.EnrichRequest_Email{Email: email},
		Fields:  &fieldmaskpb.FieldMask{Paths: []string{"person.title"}},
		Lane:    enrichv1.Lane_LANE_BULK, Budget: durationpb.New(40 * time.Second),
	}, grpc.Peer(&at))
	if err == nil {
		tr.answered.Add(1)
		return
	}
	tr.mu.Lock()
	defer tr.mu.Unlock()
	failed := failure{err: err}
	if at.Addr != nil {
		failed.replica = at.Addr.String()
	}
	tr.failures = append(tr.failures, failed)
}

// TestReplicasAreReplacedUnderLoad restarts three replicas one after the other:
// no request fails. Then one is killed: only what it was answering fails. In
// neither does the vendor have to refuse anything.
func TestReplicasAreReplacedUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	vendors, address := strictVendor(t)
	members := startMembers(t, 3, address, redistest.Start(t).Addr)
	defer func() {
		for _, m := range members {
			if m.process.ProcessState == nil { // the killed one has ended
				m.stop()
			}
		}
	}()
	asking := newTraffic(t, members)
	defer asking.close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()

	asking.run(ctx, "rolling", func() {
		for _, m := range members {
			<-time.After(500 * time.Millisecond)
			m.stop()
			m.start()
		}
		<-time.After(500 * time.Millisecond)
	})
	for _, failed := range asking.failures {
		t.Errorf("a request failed while replicas were replaced: %v", failed.err)
	}
	t.Logf("%d requests answered while three replicas were replaced", asking.answered.Load())

	asking.failures = nil
	victim := members[0]
	asking.run(ctx, "killed", func() {
		<-time.After(500 * time.Millisecond)
		if err := victim.process.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = victim.process.Wait()
		<-time.After(time.Second)
	})
	for _, failed := range asking.failures {
		if failed.replica != victim.grpc || status.Code(failed.err) != codes.Unavailable {
			t.Errorf("a request failed at %s when %s was killed: %v", failed.replica, victim.grpc, failed.err)
		}
	}
	t.Logf("%d requests failed with the replica that was killed", len(asking.failures))
	if ledger := vendors.Summary(vendorName); ledger.RateLimited != 0 || ledger.Duplicates != 0 {
		t.Errorf("the vendor refused %d of %d calls and billed %d twice", ledger.RateLimited, ledger.Calls, ledger.Duplicates)
	}
}
