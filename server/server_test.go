package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// enricherFunc is an Enricher made of a function.
type enricherFunc func(context.Context, enrich.Request) (enrich.Answer, error)

func (f enricherFunc) Enrich(ctx context.Context, request enrich.Request) (enrich.Answer, error) {
	return f(ctx, request)
}

// edge is a running server and a client for each path.
type edge struct {
	grpc enrichv1.EnrichServiceClient
	conn *grpc.ClientConn
	http string
	log  *bytes.Buffer // read only after stop
	// cancelServe begins the drain; stop also waits for its end.
	cancelServe, stop func()
}

func start(t *testing.T, enricher enricherFunc) *edge {
	t.Helper()
	log := &bytes.Buffer{}
	server, err := Listen(Config{GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0", MaxMessageBytes: 64 << 10}, enricher, slog.New(slog.NewJSONHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	conn, err := grpc.NewClient(server.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		_ = conn.Close()
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
	t.Cleanup(stop)
	return &edge{grpc: enrichv1.NewEnrichServiceClient(conn), conn: conn, http: "http://" + server.HTTPAddress(), log: log, cancelServe: cancel, stop: stop}
}

// post sends a body to REST and returns status, headers and body.
func (e *edge) post(t *testing.T, body string) (int, http.Header, []byte) {
	t.Helper()
	response, err := http.Post(e.http+"/v1/enrich", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, answer
}

// janeAtAcme is an answer with a value of every form and a gap.
func janeAtAcme(t *testing.T) enrich.Answer {
	t.Helper()
	normalizer, err := email.New(email.Config{})
	if err != nil {
		t.Fatal(err)
	}
	address, err := normalizer.Normalize("jane.doe@acme.example")
	if err != nil {
		t.Fatal(err)
	}
	found := map[enrich.Attribute]enrich.Provenance{}
	for attribute, value := range map[enrich.Attribute]enrich.Value{
		"person.title":           enrich.TextValue("Head of Tests"),
		"person.seniority":       enrich.WordValue("head"),
		"company.employee_count": enrich.NumberValue(120),
		"company.founded_year":   enrich.NumberValue(1999),
		"company.technologies":   enrich.ListValue([]string{"redis", "go"}),
	} {
		found[attribute] = enrich.Provenance{
			Fact: enrich.Fact{Attribute: attribute, State: enrich.StateValue, Value: value, Source: "peopledatalabs", FetchedAt: time.UnixMilli(1_790_000_000_000), Confidence: 0.8},
			Tier: enrich.MemoryTier,
		}
	}
	return enrich.Answer{
		Address: address, Domain: address.Registrable(), Completeness: enrich.PartlyFound, Found: found,
		Gaps:     map[enrich.Attribute]enrich.Gap{"person.phone": {Kind: enrich.GapFailed, Reason: enrich.ReasonPaused}},
		Attempts: []enrich.Attempt{{Provider: "peopledatalabs", Outcome: enrich.Hit, Took: time.Second, Charged: enrich.KnownCharge(280000)}},
		Cost:     280000, IdempotencyKey: "key",
	}
}

func TestBothPathsGiveTheSameAnswer(t *testing.T) {
	answer := janeAtAcme(t)
	edge := start(t, func(context.Context, enrich.Request) (enrich.Answer, error) { return answer, nil })

	overGRPC, err := edge.grpc.Enrich(t.Context(), &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "jane.doe@acme.example"}})
	if err != nil {
		t.Fatal(err)
	}
	code, _, body := edge.post(t, `{"email":"jane.doe@acme.example"}`)
	overREST := &enrichv1.EnrichResponse{}
	if err := protojson.Unmarshal(body, overREST); code != http.StatusOK || err != nil {
		t.Fatalf("REST answered %d, %v: %s", code, err, body)
	}
	if !proto.Equal(overGRPC, overREST) {
		t.Errorf("gRPC: %v\nREST: %v", overGRPC, overREST)
	}
	if overGRPC.GetPerson().GetSeniority() != enrichv1.Seniority_SENIORITY_HEAD || overGRPC.GetCompany().GetEmployeeCount() != 120 ||
		overGRPC.GetCompany().GetFoundedYear() != 1999 || strings.Join(overGRPC.GetCompany().GetTechnologies(), " ") != "go redis" {
		t.Errorf("values = %v", overGRPC)
	}
	if overGRPC.GetGaps()["person.phone"].GetReason() != "paused" || overGRPC.GetProvenance()["person.title"].GetTier() != enrichv1.CacheTier_CACHE_TIER_MEMORY {
		t.Errorf("gaps and provenance = %v", overGRPC)
	}
}

func TestRequestIsTranslatedWhole(t *testing.T) {
	var got enrich.Request
	edge := start(t, func(_ context.Context, request enrich.Request) (enrich.Answer, error) {
		got = request
		return enrich.Answer{}, nil
	})
	code, _, body := edge.post(t, `{"email":"x","fields":"person.title,company","lane":"LANE_BULK","budget":"1.5s","maxAge":"60s",
		"maxCostMicros":"0","cache":"CACHE_POLICY_REFRESH","consent":{"basis":"consent","source":"form"},"idempotency_key":"k"}`)
	if code != http.StatusOK {
		t.Fatalf("REST answered %d: %s", code, body)
	}
	if got.Email != "x" || len(got.Wanted) != 17 || got.Lane != enrich.Bulk || got.Budget != 1500*time.Millisecond || got.MaxAge != time.Minute ||
		got.MaxCost == nil || *got.MaxCost != 0 || got.Cache != enrich.CacheRefresh || got.Consent.Basis != "consent" || got.IdempotencyKey != "k" {
		t.Errorf("request = %+v", got)
	}
}

func TestEveryKindHasItsCodeAndNothingInternalIsSent(t *testing.T) {
	for _, kind := range enrich.ErrorKinds {
		if _, ok := grpcCodes[kind]; !ok {
			t.Errorf("kind %s has no code", kind)
		}
	}
	edge := start(t, func(context.Context, enrich.Request) (enrich.Answer, error) {
		return enrich.Answer{}, errors.New("a secret of the inside")
	})
	_, err := edge.grpc.Enrich(t.Context(), &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "x"}})
	info := detail[*errdetails.ErrorInfo](err)
	if status.Code(err) != codes.Internal || strings.Contains(err.Error(), "secret") || info.GetMetadata()["request_id"] == "" {
		t.Errorf("error = %v with %v", err, info)
	}
	edge.stop()
	if log := edge.log.String(); !strings.Contains(log, "a secret of the inside") || !strings.Contains(log, info.GetMetadata()["request_id"]) {
		t.Errorf("the log does not explain the request: %s", log)
	}
}

// detail returns the first detail of the type, or its zero value.
func detail[T any](err error) (found T) {
	for _, each := range status.Convert(err).Details() {
		if typed, ok := each.(T); ok {
			return typed
		}
	}
	return found
}

func TestThrottledSaysWhenToComeBack(t *testing.T) {
	edge := start(t, func(context.Context, enrich.Request) (enrich.Answer, error) {
		return enrich.Answer{}, &enrich.Error{Kind: enrich.Throttled, Message: "all providers are paused", Offset: -1, ReadyAt: time.Now().Add(1500 * time.Millisecond)}
	})
	_, err := edge.grpc.Enrich(t.Context(), &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "x"}})
	delay := detail[*errdetails.RetryInfo](err).GetRetryDelay().AsDuration()
	if status.Code(err) != codes.ResourceExhausted || delay <= time.Second || delay > 1500*time.Millisecond {
		t.Errorf("error = %v, delay %s", err, delay)
	}
	code, header, _ := edge.post(t, `{"email":"x"}`)
	if code != http.StatusTooManyRequests || header.Get("Retry-After") != "2" {
		t.Errorf("REST answered %d with Retry-After %q, want 429 and 2", code, header.Get("Retry-After"))
	}
}

func TestPanicBecomesInternal(t *testing.T) {
	edge := start(t, func(context.Context, enrich.Request) (enrich.Answer, error) { panic("jane@acme.example") })
	if _, err := edge.grpc.Enrich(t.Context(), &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "x"}}); status.Code(err) != codes.Internal {
		t.Errorf("gRPC error = %v", err)
	}
	if code, _, _ := edge.post(t, `{"email":"x"}`); code != http.StatusInternalServerError {
		t.Errorf("REST answered %d", code)
	}
	edge.stop()
	if strings.Contains(edge.log.String(), "jane") {
		t.Error("what was panicked with reached the log")
	}
}

func TestBadMessagesAreNamed(t *testing.T) {
	edge := start(t, func(context.Context, enrich.Request) (enrich.Answer, error) {
		t.Error("a bad message reached the service")
		return enrich.Answer{}, nil
	})
	for _, test := range []struct {
		name    string
		message *enrichv1.EnrichRequest
		field   string
	}{
		{"no subject", &enrichv1.EnrichRequest{}, "subject"},
		{"an unknown path", &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "x"}, Fields: &fieldmaskpb.FieldMask{Paths: []string{"person.shoe_size"}}}, "fields"},
		{"an unknown lane", &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "x"}, Lane: 99}, "lane"},
		{"a negative budget", &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "x"}, Budget: durationpb.New(-1)}, "budget"},
		{"a negative cost", &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "x"}, MaxCostMicros: proto.Int64(-1)}, "max_cost_micros"},
		{"a long key", &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "x"}, IdempotencyKey: strings.Repeat("k", 256)}, "idempotency_key"},
		{"a basis that is no word", &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "x"}, Consent: &enrichv1.Consent{Basis: "Jane said so"}}, "consent.basis"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := edge.grpc.Enrich(t.Context(), test.message)
			violations := detail[*errdetails.BadRequest](err).GetFieldViolations()
			if status.Code(err) != codes.InvalidArgument || len(violations) != 1 || violations[0].GetField() != test.field {
				t.Errorf("error = %v with %v, want field %s", err, violations, test.field)
			}
		})
	}
}

func TestBadBodiesAreRefusedWithoutRepeatingThem(t *testing.T) {
	edge := start(t, func(context.Context, enrich.Request) (enrich.Answer, error) {
		t.Error("a bad body reached the service")
		return enrich.Answer{}, nil
	})
	for name, body := range map[string]string{
		"not JSON":         `{"email": jane@acme.example`,
		"an unknown field": `{"email":"jane@acme.example","jane":1}`,
		"a wrong type":     `{"email":{"jane":1}}`,
		"an unknown enum":  `{"email":"jane@acme.example","lane":"jane"}`,
		"two values":       `{"email":"jane@acme.example"}{"email":"jane@acme.example"}`,
		"half a body":      `{"email":"jane@acme`,
		"nothing":          ``,
		"not UTF-8":        "{\"email\":\"jane\xff\"}",
	} {
		t.Run(name, func(t *testing.T) {
			code, _, answer := edge.post(t, body)
			var failure struct {
				Code    int
				Message string
				Details []map[string]any
			}
			if err := json.Unmarshal(answer, &failure); err != nil || code != http.StatusBadRequest || failure.Code != int(codes.InvalidArgument) || len(failure.Details) == 0 {
				t.Errorf("answered %d: %s", code, answer)
			}
			if bytes.Contains(answer, []byte("jane")) {
				t.Errorf("the answer repeats the body: %s", answer)
			}
		})
	}
}

func TestTooLongMessages(t *testing.T) {
	edge := start(t, func(context.Context, enrich.Request) (enrich.Answer, error) {
		t.Error("a message that is too long reached the service")
		return enrich.Answer{}, nil
	})
	long := strings.Repeat("x", 65<<10)
	if _, err := edge.grpc.Enrich(t.Context(), &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: long}}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("gRPC error code = %s", status.Code(err))
	}
	if code, _, _ := edge.post(t, `{"email":"`+long+`"}`); code != http.StatusRequestEntityTooLarge {
		t.Errorf("REST answered %d to a declared length", code)
	}
	response, err := http.Post(edge.http+"/v1/enrich", "application/json", io.MultiReader(strings.NewReader(`{"email":"`+long+`"}`)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, _ = io.Copy(io.Discard, response.Body); response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("REST answered %d to a body of unknown length", response.StatusCode)
	}
}

func TestStandardCompanions(t *testing.T) {
	edge := start(t, nil)
	health, err := healthpb.NewHealthClient(edge.conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || health.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health = %v, %v", health, err)
	}
	stream, err := reflectionpb.NewServerReflectionClient(edge.conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "enrich.v1.EnrichService"}}); err != nil {
		t.Fatal(err)
	}
	if answer, err := stream.Recv(); err != nil || len(answer.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
		t.Errorf("reflection = %v, %v", answer, err)
	}
	_ = stream.CloseSend()
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json"} {
		response, err := http.Get(edge.http + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK || len(body) == 0 {
			t.Errorf("%s answered %d", path, response.StatusCode)
		}
		if path == "/openapi.json" && !json.Valid(body) {
			t.Error("/openapi.json is not JSON")
		}
	}
}

func TestDrainLetsRequestsFinish(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	edge := start(t, func(context.Context, enrich.Request) (enrich.Answer, error) {
		close(entered)
		<-leave
		return enrich.Answer{IdempotencyKey: "done"}, nil
	})
	answered := make(chan error, 1)
	go func() {
		answer, err := edge.grpc.Enrich(context.Background(), &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "x"}})
		if err == nil && answer.GetIdempotencyKey() != "done" {
			err = errors.New("another answer")
		}
		answered <- err
		_ = edge.conn.Close()
	}()
	<-entered
	watch, err := healthpb.NewHealthClient(edge.conn).Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for {
			state, err := watch.Recv()
			if err != nil || state.GetStatus() == healthpb.HealthCheckResponse_NOT_SERVING {
				close(leave)
				return
			}
		}
	}()
	edge.cancelServe()
	<-drained
	if err := <-answered; err != nil {
		t.Errorf("the request under way was lost: %v", err)
	}
}

func TestConfigValidate(t *testing.T) {
	if problems := (Config{}).Validate(); problems != nil {
		t.Errorf("the zero value is refused: %v", problems)
	}
	problems := Config{GRPC: "0.0.0.0:1", HTTP: "nonsense", MaxMessageBytes: 5, DrainTimeout: -1}.Validate()
	if len(problems) != 4 {
		t.Errorf("Validate = %v, want all four problems", problems)
	}
	if problems := (Config{GRPC: "0.0.0.0:1", AllowRemote: true}).Validate(); problems != nil {
		t.Errorf("allow_remote does not allow: %v", problems)
	}
}
