package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

func gzipped(text []byte) string {
	var out bytes.Buffer
	zipper := gzip.NewWriter(&out)
	_, _ = zipper.Write(text)
	_ = zipper.Close()
	return out.String()
}

func TestCompressedBodies(t *testing.T) {
	edge := start(t, echo)
	bomb := gzipped(bytes.Repeat([]byte{' '}, 50<<20))
	if len(bomb) >= 64<<10 {
		t.Fatalf("the bomb has %d bytes", len(bomb))
	}
	whole := gzipped([]byte(`{"email":"jane"}`))
	for name, test := range map[string]struct {
		body  string
		code  int
		class string
	}{
		"whole":       {whole, 200, ""},
		"a bomb":      {bomb, 413, "too_long"},
		"half":        {whole[:len(whole)-6], 400, "broken_body"},
		"something":   {"something", 400, "broken_body"},
		"a bad check": {whole[:len(whole)-8] + "12345678", 400, "broken_body"},
	} {
		code, _, body := edge.ask(t, http.MethodPost, "/v1/enrich", test.body, "Content-Encoding: gzip")
		if code != test.code || test.class != "" && classOf(failed(t, body)) != test.class {
			t.Errorf("%s: answered %d: %s", name, code, body)
		}
	}
}

func TestCompressedAnswers(t *testing.T) {
	long := enrich.Answer{IdempotencyKey: strings.Repeat("k", 5000)}
	edge := start(t, func(_ context.Context, request enrich.Request) (enrich.Answer, error) {
		if request.Email == "short" {
			return enrich.Answer{}, nil
		}
		return long, nil
	})
	for _, test := range []struct {
		email, accept string
		zipped        bool
	}{
		{"long", "gzip", true}, {"long", "br, gzip;q=0.5", true}, {"long", "*", true},
		{"long", "identity", false}, {"long", "gzip;q=0", false}, {"long", "br", false}, {"short", "gzip", false},
	} {
		code, header, body := edge.ask(t, http.MethodPost, "/v1/enrich", `{"email":"`+test.email+`"}`, "Accept-Encoding: "+test.accept)
		if zipped := header.Get("Content-Encoding") == "gzip"; code != http.StatusOK || zipped != test.zipped || !strings.Contains(header.Get("Vary"), "Accept-Encoding") {
			t.Errorf("%s with %s: answered %d, zipped %t", test.email, test.accept, code, zipped)
		} else if zipped {
			reader, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			body, _ = io.ReadAll(reader)
		}
		if !json.Valid(body) || test.email == "long" && !bytes.Contains(body, []byte(long.IdempotencyKey)) {
			t.Errorf("%s with %s: %d bytes", test.email, test.accept, len(body))
		}
	}
}

func TestAllowedSites(t *testing.T) {
	edge := start(t, answered, func(config *Config, _ *Parts) { config.AllowedOrigins = []string{"https://app.example"} })
	code, header, _ := edge.ask(t, http.MethodOptions, "/v1/enrich", "", "Origin: https://app.example", "Access-Control-Request-Method: POST")
	if code != http.StatusNoContent || header.Get("Access-Control-Allow-Origin") != "https://app.example" || !strings.Contains(header.Get("Access-Control-Allow-Headers"), "X-Api-Key") {
		t.Errorf("asked beforehand: %d %v", code, header)
	}
	code, header, _ = edge.ask(t, http.MethodPost, "/v1/enrich", `{"email":"x"}`, "Origin: https://app.example")
	if code != http.StatusOK || header.Get("Access-Control-Allow-Origin") != "https://app.example" || !strings.Contains(strings.Join(header.Values("Vary"), ","), "Origin") {
		t.Errorf("asked: %d %v", code, header)
	}
	for _, origin := range []string{"https://evil.example", "http://app.example", "https://app.example.evil.example"} {
		code, header, _ = edge.ask(t, http.MethodOptions, "/v1/enrich", "", "Origin: "+origin, "Access-Control-Request-Method: POST")
		if code != http.StatusForbidden || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %v", origin, code, header)
		}
	}
}

func TestSnakeCaseIsAcceptedToo(t *testing.T) {
	var asked enrich.Request
	edge := start(t, func(_ context.Context, request enrich.Request) (enrich.Answer, error) {
		asked = request
		return enrich.Answer{}, nil
	})
	for _, body := range []string{
		`{"email":"x_y","fields":"person.linkedin_url,company.employee_count","max_cost_micros":5,"max_age":"60s"}`,
		`{"email":"x_y","fields":"person.linkedinUrl,company.employeeCount","maxCostMicros":"5","maxAge":"60s"}`,
	} {
		code, _, answer := edge.post(t, body)
		if code != http.StatusOK || len(asked.Wanted) != 2 || asked.Wanted[0] != "person.linkedin_url" || *asked.MaxCost != 5 || asked.MaxAge != time.Minute || asked.Email != "x_y" {
			t.Errorf("%s: answered %d %s for %+v", body, code, answer, asked)
		}
	}
}

func TestCamelMasksMoveNothing(t *testing.T) {
	for body, want := range map[string]string{
		`{"fields":"a_b.c_d","x_y":1}`:         `{"fields":"aB.cD"  ,"x_y":1}`,
		`{"email":"\"fields\":\"a_b\"","a":1}`: `{"email":"\"fields\":\"a_b\"","a":1}`,
		`{"fields":"a__b_"}`:                   `{"fields":"a_B_" }`,
	} {
		got := string(camelMasks([]byte(body)))
		if got != want || len(got) != len(body) {
			t.Errorf("%s became %s", body, got)
		}
	}
}

// reasons is a Readiness with what it says.
type reasons struct{ says atomic.Pointer[[]string] }

func (r *reasons) Problems() []string {
	if says := r.says.Load(); says != nil {
		return *says
	}
	return nil
}

func TestReadinessHasReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready := &reasons{}
		b := newBubble(t, Config{}, answered, func(parts *Parts) { parts.Readiness = ready })
		client, rest := b.client(), b.connect()
		look := func() (string, healthpb.HealthCheckResponse_ServingStatus) {
			rest.send("GET /readyz", "Accept: */*", "")
			response, body := rest.receive()
			health, err := healthpb.NewHealthClient(client).Check(t.Context(), &healthpb.HealthCheckRequest{Service: enrichv1.EnrichService_ServiceDesc.ServiceName})
			if err != nil {
				t.Fatal(err)
			}
			return response.Status + " " + string(body), health.GetStatus()
		}
		if text, health := look(); text != "200 OK ok\n" || health != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("ready: %q, %s", text, health)
		}
		ready.says.Store(&[]string{"the suppression list was not loaded yet"})
		time.Sleep(2 * readinessTick)
		if text, health := look(); text != "503 Service Unavailable the suppression list was not loaded yet\n" || health != healthpb.HealthCheckResponse_NOT_SERVING {
			t.Errorf("not ready: %q, %s", text, health)
		}
		if _, err := healthpb.NewHealthClient(client).Check(t.Context(), &healthpb.HealthCheckRequest{Service: "nothing"}); status.Code(err) != codes.NotFound {
			t.Errorf("an unknown service: %v", err)
		}
		_ = client.Close()
		b.stop()
	})
}

func TestReflectionCanBeSwitchedOff(t *testing.T) {
	edge := start(t, answered, func(config *Config, _ *Parts) { config.NoReflection = true })
	for _, service := range []string{"grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"} {
		if _, served := edge.server.grpc.GetServiceInfo()[service]; served {
			t.Errorf("%s is served", service)
		}
	}
}

// TestOpenAPIKnowsEveryRoute compares the document with the contract's routes.
func TestOpenAPIKnowsEveryRoute(t *testing.T) {
	var document struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct {
					Schema  json.RawMessage
					Example any
				}
			}
			Responses map[string]struct{ Description string }
		}
	}
	if err := json.Unmarshal(enrichv1.OpenAPI(), &document); err != nil {
		t.Fatal(err)
	}
	routes := 0
	for path, methods := range document.Paths {
		for method, operation := range methods {
			routes++
			request, _ := http.NewRequest(strings.ToUpper(method), regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(path, "hunter"), nil)
			if found, _ := routeOf(contractRoutes(), request); found == nil {
				t.Errorf("%s %s is in the document and not in the contract", method, path)
			}
			for kind, content := range operation.RequestBody.Content {
				if content.Schema == nil || content.Example == nil && !strings.Contains(path, ":resume") && !strings.Contains(path, "}:forget") {
					t.Errorf("%s %s has a %s body without schema or example", method, path, kind)
				}
			}
			for code, response := range operation.Responses {
				if response.Description == "" {
					t.Errorf("%s %s has an answer %s without description", method, path, code)
				}
			}
		}
	}
	if routes != len(contractRoutes()) {
		t.Errorf("the document has %d routes, the contract %d", routes, len(contractRoutes()))
	}
}

// TestOpenAPIRefersToWhatIsThere follows every reference in the document, and
// compares the one message that is written by hand with the contract's.
func TestOpenAPIRefersToWhatIsThere(t *testing.T) {
	var document struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(enrichv1.OpenAPI(), &document); err != nil {
		t.Fatal(err)
	}
	references := regexp.MustCompile(`"#/components/schemas/([^"]+)"`).FindAllSubmatch(enrichv1.OpenAPI(), -1)
	for _, reference := range references {
		if _, there := document.Components.Schemas[string(reference[1])]; !there {
			t.Errorf("%s is referred to and not there", reference[1])
		}
	}
	written, fields := document.Components.Schemas["enrich.v1.StreamEnrichRequest"].Properties, (&enrichv1.StreamEnrichRequest{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if _, there := written[fields.Get(i).JSONName()]; !there || len(written) != fields.Len() {
			t.Errorf("the document's StreamEnrichRequest has %v", written)
		}
	}
}

// TestDocsWorkOffline looks for anything that the page would fetch elsewhere.
func TestDocsWorkOffline(t *testing.T) {
	edge := start(t, answered)
	code, header, body := edge.ask(t, http.MethodGet, "/docs", "")
	if code != http.StatusOK || header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("answered %d %v", code, header)
	}
	if found := regexp.MustCompile(`https?://|//[a-z]|@import|src=`).Find(body); found != nil {
		t.Errorf("the page names %s", found)
	}
}
