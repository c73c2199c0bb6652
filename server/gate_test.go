package server

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// keyring are accounts that a test gives keys, and names of certificates.
type keyring map[string]Caller

func (k keyring) ByKey(key string) (Caller, bool)   { caller, known := k[key]; return caller, known }
func (k keyring) ByName(name string) (Caller, bool) { return k.ByKey("name:" + name) }

// ring has an account with a key, and an operator with another.
func ring() keyring {
	return keyring{
		"sales-key": {Account: enrich.Account{Name: "sales"}},
		"admin-key": {Account: enrich.Account{Name: "ops"}, Admin: true},
	}
}

func withAccounts(accounts Accounts) func(*Config, *Parts) {
	return func(_ *Config, parts *Parts) { parts.Accounts = accounts }
}

// tally is an observer that keeps what it is told.
type tally struct {
	mu       sync.Mutex
	finished []string
}

func (t *tally) Finished(_ context.Context, method, code, account, source string, _ time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finished = append(t.finished, method+" "+code+" "+account+" "+source)
}

// heard returns what the observer was told since the last time.
func (t *tally) heard() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	heard := t.finished
	t.finished = nil
	return heard
}

// TestEveryPathPassesTheGate asks over each path with every way to show a key,
// and expects the same of each.
func TestEveryPathPassesTheGate(t *testing.T) {
	var asked string
	told := &tally{}
	edge := start(t, func(_ context.Context, request enrich.Request) (enrich.Answer, error) {
		asked = request.Account.Name
		return enrich.Answer{}, nil
	}, withAccounts(ring()), func(_ *Config, parts *Parts) { parts.Observer = told })
	// A header comes once for each line of its value.
	overGRPC := func(header, value string) context.Context {
		ctx := t.Context()
		for line := range strings.SplitSeq(value, "\n") {
			ctx = metadata.AppendToOutgoingContext(ctx, header, line)
		}
		return ctx
	}
	overREST := func(header, value string) (headers []string) {
		for line := range strings.SplitSeq(value, "\n") {
			headers = append(headers, header+": "+line)
		}
		return headers
	}
	paths := map[string]func(header, value string) (codes.Code, string){
		"unary": func(header, value string) (codes.Code, string) {
			_, err := edge.grpc.Enrich(overGRPC(header, value), emailOf("x"))
			return status.Code(err), status.Convert(err).Message()
		},
		"stream": func(header, value string) (codes.Code, string) {
			stream, err := edge.grpc.StreamEnrich(overGRPC(header, value))
			if err != nil {
				t.Fatal(err)
			}
			_ = stream.Send(&enrichv1.StreamEnrichRequest{Request: emailOf("x")})
			_ = stream.CloseSend()
			_, err = stream.Recv()
			return status.Code(err), status.Convert(err).Message()
		},
		"rest": func(header, value string) (codes.Code, string) {
			code, headers, body := edge.ask(t, http.MethodPost, "/v1/enrich", `{"email":"x"}`, overREST(header, value)...)
			if code == http.StatusOK {
				return codes.OK, ""
			}
			if headers.Get("WWW-Authenticate") != "Bearer" {
				t.Error("401 without WWW-Authenticate")
			}
			return status.Code(failed(t, body)), status.Convert(failed(t, body)).Message()
		},
		"rest stream": func(header, value string) (codes.Code, string) {
			code, _, body := edge.ask(t, http.MethodPost, "/v1/enrich:stream", `{"request":{"email":"x"}}`, overREST(header, value)...)
			if code == http.StatusOK {
				return codes.OK, ""
			}
			return status.Code(failed(t, body)), status.Convert(failed(t, body)).Message()
		},
	}
	for path, ask := range paths {
		for _, test := range []struct {
			header, value string
			known         bool
		}{
			{"authorization", "Bearer sales-key", true},
			{"authorization", "bearer  sales-key ", true},
			{"x-api-key", "sales-key", true},
			{"x-none", "", false},
			{"authorization", "Bearer other-key", false},
			{"authorization", "Basic sales-key", false},
			{"authorization", "sales-key", false},
			{"x-api-key", "", false},
			{"x-api-key", "name:x", false},
			{"authorization", "Bearer sales-key\nBearer other-key", false},
			{"authorization", "Bearer other-key\nBearer sales-key", false},
			{"x-api-key", "sales-key\nsales-key", false},
		} {
			asked = ""
			code, text := ask(test.header, test.value)
			if test.known {
				if code != codes.OK || asked != "sales" {
					t.Errorf("%s with %s %q: %s for %q", path, test.header, test.value, code, asked)
				}
				continue
			}
			if code != codes.Unauthenticated || asked != "" || text != errUnauthenticated.Message {
				t.Errorf("%s with %s %q: %s %q for %q", path, test.header, test.value, code, text, asked)
			}
		}
	}
	_ = told.heard()
	paths["rest"]("x-api-key", "sales-key")
	paths["unary"]("x-none", "")
	heard := told.heard()
	if len(heard) != 2 || heard[0] != "Enrich OK sales none" || heard[1] != "Enrich Unauthenticated  none" {
		t.Errorf("the observer heard %q", heard)
	}
}

func TestTheContractAloneNeedsAKey(t *testing.T) {
	edge := start(t, answered, withAccounts(ring()))
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json", "/docs"} {
		if code, _, _ := edge.ask(t, http.MethodGet, path, ""); code != http.StatusOK {
			t.Errorf("%s answered %d", path, code)
		}
	}
}

// TestOperatorsNeedTheirScope walks all of the operators' methods with a key
// that has no admin scope, and looks for one that forgets to ask for it.
func TestOperatorsNeedTheirScope(t *testing.T) {
	edge := start(t, answered, withAccounts(ring()))
	for name, method := range methods {
		if !method.admin {
			continue
		}
		for key, want := range map[string]codes.Code{"sales-key": codes.PermissionDenied, "admin-key": codes.OK, "": codes.Unauthenticated} {
			ctx := showing(t.Context(), key)
			err := edge.conn.Invoke(ctx, name, &enrichv1.ListProvidersRequest{}, &enrichv1.ListProvidersResponse{})
			got := status.Code(err)
			if got == codes.InvalidArgument || got == codes.FailedPrecondition {
				got = codes.OK // it passed the gate: nothing was asked, of nobody
			}
			if got != want {
				t.Errorf("%s with %q: %v, want %s", name, key, err, want)
			}
		}
	}
	code, _, body := edge.ask(t, http.MethodGet, "/v1/providers", "", "X-Api-Key: sales-key")
	if code != http.StatusForbidden || status.Code(failed(t, body)) != codes.PermissionDenied {
		t.Errorf("REST answered %d: %s", code, body)
	}
}

// BenchmarkAuthentication measures what the gate adds to a request.
func BenchmarkAuthentication(b *testing.B) {
	s := &Server{parts: Parts{Accounts: ring()}.withDefaults(), rates: rates{began: time.Now()}}
	headers := grpcHeaders(metadata.Pairs("authorization", "Bearer sales-key", ":authority", "localhost"))
	for name, rate := range map[string]Rate{"unbounded": {}, "bounded": {Requests: 1e12, Window: time.Hour}} {
		caller := ring()["sales-key"]
		caller.Rate = rate
		s.parts.Accounts = keyring{"sales-key": caller}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				call := &call{method: methods[enrichv1.EnrichService_Enrich_FullMethodName], headers: headers}
				if err := s.enter(call, s.credentialOfGRPC(b.Context(), call)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// rateTrailers are the RateLimit fields of a gRPC answer.
func rateTrailers(ctx context.Context, edge *edge, message *enrichv1.EnrichRequest) (metadata.MD, error) {
	var trailer metadata.MD
	_, err := edge.grpc.Enrich(showing(ctx, "sales-key"), message, grpc.Trailer(&trailer))
	return trailer, err
}
