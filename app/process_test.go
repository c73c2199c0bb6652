package app

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/cache"
	"github.com/enrichd/enrichd/cache/redistest"
	"github.com/enrichd/enrichd/config"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/providers/fakevendor"
	"github.com/enrichd/enrichd/providers/fakevendor/truth"
	"github.com/enrichd/enrichd/redisconn"
	"github.com/enrichd/enrichd/server"
)

// spans are of all tests: a process's tracers keep to the first provider.
var spans = tracetest.NewInMemoryExporter()

func TestMain(m *testing.M) {
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	goleak.VerifyTestMain(m,
		// A client that was closed while its Redis was away notices within a second.
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// lockedBuffer is a log that is written while it is read.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// startVendors serves fake vendors that know everything on a free port.
func startVendors(t *testing.T) (*fakevendor.Server, string) {
	t.Helper()
	vendors, err := fakevendor.New(fakevendor.Config{Seed: 1, Vendors: map[string]fakevendor.Vendor{
		primary: {Data: &fakevendor.Data{}}, secondary: {Data: &fakevendor.Data{}},
	}})
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
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return vendors, "http://" + listener.Addr().String()
}

// running is the whole program, listening on free ports.
type running struct {
	app   *App
	grpc  enrichv1.EnrichServiceClient
	rest  string
	log   *lockedBuffer
	again chan os.Signal
	stop  func()
}

func run(t *testing.T, vendors string, records cache.Config) *running {
	t.Helper()
	log := &lockedBuffer{}
	program := start(t, config.Config{
		Server: server.Config{GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0"},
		Cache:  records,
		Providers: providers.Config{List: []providers.ProviderConfig{
			{Definition: primary, BaseURL: vendors + "/" + primary, AllowPrivate: true, Credentials: map[string]string{"api_key": "k"}},
			{Definition: secondary, BaseURL: vendors + "/" + secondary, AllowPrivate: true, Credentials: map[string]string{"api_key": "k"}},
		}},
	}, Options{Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	program.log = log
	return program
}

// follow runs the program from a file.
func follow(t *testing.T, file string, options Options) *running {
	t.Helper()
	loaded, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return start(t, loaded, options)
}

func start(t *testing.T, loaded config.Config, options Options) *running {
	t.Helper()
	program, err := New(t.Context(), loaded, options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	again := make(chan os.Signal)
	stopped := make(chan error, 1)
	go func() { stopped <- program.Run(ctx) }()
	var following sync.WaitGroup
	if options.File != "" {
		following.Go(func() { program.Follow(ctx, again) })
	}
	conn, err := grpc.NewClient(program.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() {
		_ = conn.Close()
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("Run: %v", err)
		}
		following.Wait()
	})
	t.Cleanup(stop)
	return &running{app: program, grpc: enrichv1.NewEnrichServiceClient(conn), rest: "http://" + program.HTTPAddress(), again: again, stop: stop}
}

// withKey adds an API key to a call.
func withKey(ctx context.Context, key string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+key)
}

func (r *running) enrich(t *testing.T, email string) *enrichv1.EnrichResponse {
	t.Helper()
	answer, err := r.grpc.Enrich(t.Context(), &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: email}})
	if err != nil {
		t.Fatalf("Enrich: %v", err)
	}
	return answer
}

func (r *running) enrichOverREST(t *testing.T, email string) *enrichv1.EnrichResponse {
	t.Helper()
	response, err := http.Post(r.rest+"/v1/enrich", "application/json", strings.NewReader(`{"email":"`+email+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	answer := &enrichv1.EnrichResponse{}
	if err := protojson.Unmarshal(body, answer); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return answer
}

// tierOf is the tier that the title comes from.
func tierOf(answer *enrichv1.EnrichResponse) enrichv1.CacheTier {
	return answer.GetProvenance()["person.title"].GetTier()
}

func withRedis(addr string) cache.Config {
	return cache.Config{Redis: cache.RedisConfig{Config: redisconn.Config{Addresses: []string{addr}}, Pepper: "a pepper for tests only"}}
}

func TestAnswersComeFromVendorsMemoryAndRedis(t *testing.T) {
	vendors, address := startVendors(t)
	redis := redistest.Start(t)
	const lead = "jane.doe@acme.example"

	first := run(t, address, withRedis(redis.Addr))
	if answer := first.enrich(t, lead); answer.GetOutcome() == enrichv1.Outcome_OUTCOME_NOT_FOUND || answer.GetCostMicros() == 0 || tierOf(answer) != enrichv1.CacheTier_CACHE_TIER_UNSPECIFIED {
		t.Errorf("first answer = %v", answer)
	}
	calls := vendors.Summary(primary).Calls + vendors.Summary(secondary).Calls
	waitFor(t, "memory answers", func() bool {
		return tierOf(first.enrich(t, lead)) == enrichv1.CacheTier_CACHE_TIER_MEMORY
	})
	overGRPC, overREST := first.enrich(t, lead), first.enrichOverREST(t, lead)
	if !proto.Equal(overGRPC, overREST) {
		t.Errorf("gRPC: %v\nREST: %v", overGRPC, overREST)
	}
	first.stop()

	second := run(t, address, withRedis(redis.Addr))
	// Memory may have been warmed with what Redis knows before the first request.
	answer := second.enrich(t, lead)
	if tierOf(answer) == enrichv1.CacheTier_CACHE_TIER_UNSPECIFIED || answer.GetCostMicros() != 0 {
		t.Errorf("after a restart: %v", answer)
	}
	if now := vendors.Summary(primary).Calls + vendors.Summary(secondary).Calls; now != calls {
		t.Errorf("%d further vendor calls", now-calls)
	}
	second.stop()
	for _, log := range []string{first.log.String(), second.log.String()} {
		if strings.Contains(log, "jane") {
			t.Errorf("the log holds the address: %s", log)
		}
	}
}

func TestMissesAreRememberedOverARestart(t *testing.T) {
	vendors, address := startVendors(t)
	redis := redistest.Start(t)
	for _, vendor := range []string{primary, secondary} {
		if err := vendors.SetData(vendor, fakevendor.Data{Knowledge: truth.Knowledge{Miss: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(program *running) *enrichv1.EnrichResponse {
		return program.enrich(t, "jane.doe@example.org")
	}
	// A machine that is busy may keep Redis's answer from a recall in time.
	recalls := func(program *running) {
		waitFor(t, "it recalls that nobody knows", func() bool {
			answer, err := program.grpc.Enrich(t.Context(), &enrichv1.EnrichRequest{
				Subject: &enrichv1.EnrichRequest_Email{Email: "jane.doe@example.org"}, Cache: enrichv1.CachePolicy_CACHE_POLICY_ONLY,
			})
			return err == nil && answer.GetGaps()["person.title"].GetKind() == enrichv1.Gap_KIND_ABSENT &&
				answer.GetGaps()["company.name"].GetKind() == enrichv1.Gap_KIND_ABSENT
		})
	}
	first := run(t, address, withRedis(redis.Addr))
	ask(first)
	other := run(t, address, withRedis(redis.Addr))
	recalls(other) // Redis has it
	other.stop()
	first.stop()
	before := vendors.Summary(primary)
	second := run(t, address, withRedis(redis.Addr))
	recalls(second)
	ask(second)
	if after := vendors.Summary(primary); after.Calls != before.Calls {
		t.Errorf("the miss was asked for again: %d further calls", after.Calls-before.Calls)
	}
}

func TestRequestsGoOnWithoutRedis(t *testing.T) {
	_, address := startVendors(t)
	redis := redistest.Start(t)
	program := run(t, address, withRedis(redis.Addr))
	program.enrich(t, "jane.doe@acme.example")
	redis.Kill()
	for _, lead := range []string{"john.roe@acme.example", "mary.poe@acme.example"} {
		if answer := program.enrich(t, lead); answer.GetOutcome() == enrichv1.Outcome_OUTCOME_NOT_FOUND {
			t.Errorf("without Redis: %v", answer)
		}
	}
	waitFor(t, "memory answers", func() bool {
		return tierOf(program.enrich(t, "mary.poe@acme.example")) == enrichv1.CacheTier_CACHE_TIER_MEMORY
	})
	if log := program.log.String(); !strings.Contains(log, `"level":"WARN"`) {
		t.Errorf("no warning that Redis is away: %s", log)
	}
}

func TestItStartsWithoutRedis(t *testing.T) {
	_, address := startVendors(t)
	program := run(t, address, withRedis("127.0.0.1:1"))
	if answer := program.enrich(t, "jane.doe@acme.example"); answer.GetOutcome() == enrichv1.Outcome_OUTCOME_NOT_FOUND {
		t.Errorf("answer = %v", answer)
	}
	waitFor(t, "a warning", func() bool { return strings.Contains(program.log.String(), `"level":"WARN"`) })
}

// waitFor tries until the condition holds, for ten seconds at most.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}
