package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// whole is a request in one piece.
const whole = `{"email":"x"}`

func TestDrainLetsRequestsFinish(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	edge := start(t, func(context.Context, enrich.Request) (enrich.Answer, error) {
		close(entered)
		<-leave
		return enrich.Answer{IdempotencyKey: "done"}, nil
	})
	answered := make(chan error, 1)
	go func() {
		answer, err := edge.grpc.Enrich(context.Background(), emailOf("x"))
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

// TestDrainStopsAcceptingOnBothPathsAtOnce has one request under way on each
// path, which must not keep the other's listener open.
func TestDrainStopsAcceptingOnBothPathsAtOnce(t *testing.T) {
	for _, path := range []string{"grpc", "rest"} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				leave := make(chan struct{})
				b := newBubble(t, Config{}, func(context.Context, enrich.Request) (enrich.Answer, error) {
					<-leave
					return enrich.Answer{}, nil
				})
				client, rest := b.client(), b.connect()
				defer client.Close()
				defer rest.Close()
				answered := make(chan error, 1)
				if path == "grpc" {
					go func() {
						_, err := enrichv1.NewEnrichServiceClient(client).Enrich(t.Context(), emailOf("x"))
						answered <- err
					}()
				} else {
					go func() {
						rest.send("POST /v1/enrich", "Content-Length: 13", whole)
						response, _ := rest.receive()
						if response.StatusCode != http.StatusOK {
							answered <- errors.New(response.Status)
						}
						answered <- nil
					}()
				}
				synctest.Wait()
				b.cancel()
				synctest.Wait()
				if conn, err := b.grpc.dial(); err == nil {
					t.Error("gRPC still accepts")
					_ = conn.Close()
				}
				if conn, err := b.http.dial(); err == nil {
					t.Error("REST still accepts")
					_ = conn.Close()
				}
				close(leave)
				if err := <-answered; err != nil {
					t.Errorf("the request under way was lost: %v", err)
				}
				if err := <-b.served; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestAnnouncesItsStopBeforeItRefuses has the service answer new connections on
// both paths during the drain delay, while it reports that it is not ready.
func TestAnnouncesItsStopBeforeItRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{DrainDelay: 5 * time.Second}, func(context.Context, enrich.Request) (enrich.Answer, error) {
			return enrich.Answer{}, nil
		})
		synctest.Wait()
		b.cancel()
		time.Sleep(5*time.Second - 1)
		synctest.Wait()
		client, rest := b.client(), b.connect()
		defer client.Close()
		defer rest.Close()
		if _, err := enrichv1.NewEnrichServiceClient(client).Enrich(t.Context(), emailOf("x")); err != nil {
			t.Errorf("gRPC already refuses: %v", err)
		}
		health, err := healthpb.NewHealthClient(client).Check(t.Context(), &healthpb.HealthCheckRequest{Service: enrichv1.EnrichService_ServiceDesc.ServiceName})
		if err != nil || health.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
			t.Errorf("health: %v, %v", health, err)
		}
		rest.send("GET /readyz", "Accept: */*", "")
		if response, body := rest.receive(); response.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("ready while stopping: %d %s", response.StatusCode, body)
		}
		rest.send("POST /v1/enrich", "Content-Length: 13", whole)
		if response, body := rest.receive(); response.StatusCode != http.StatusOK {
			t.Errorf("REST already refuses: %d %s", response.StatusCode, body)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		for path, listener := range map[string]*pipes{"gRPC": b.grpc, "REST": b.http} {
			if conn, err := listener.dial(); err == nil {
				t.Errorf("%s accepts after the delay", path)
				_ = conn.Close()
			}
		}
		if err := <-b.served; err != nil {
			t.Error(err)
		}
	})
}

func TestDrainDoesNotWaitForWhatWasNotSent(t *testing.T) {
	for name, begin := range map[string]func(t *testing.T, b *bubble){
		"a silent REST connection": func(t *testing.T, b *bubble) { b.connect() },
		"a silent gRPC connection": func(t *testing.T, b *bubble) {
			if _, err := b.grpc.dial(); err != nil {
				t.Error(err)
			}
		},
		"an idle gRPC connection": func(t *testing.T, b *bubble) {
			conn := b.client()
			conn.Connect()
			t.Cleanup(func() { _ = conn.Close() })
		},
		"half a REST body": func(t *testing.T, b *bubble) {
			conn := b.connect()
			conn.send("POST /v1/enrich", "Content-Length: 100", `{"email"`)
			go func() {
				response, body := conn.receive()
				if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") != "1" {
					t.Errorf("answered %s: %s", response.Status, body)
				}
			}()
		},
		"half a body that nobody reads": func(t *testing.T, b *bubble) {
			for _, line := range []string{"GET /healthz", "POST /v1/nothing", "GET /v1/enrich"} {
				conn := b.connect()
				go conn.send(line, "Content-Length: 100", `{"email"`)
				conn.receive()
			}
		},
		"a gRPC call without its message": func(t *testing.T, b *bubble) { openCall(t, b) },
		"a watch of the health": func(t *testing.T, b *bubble) {
			conn := b.client()
			t.Cleanup(func() { _ = conn.Close() })
			watch, err := healthpb.NewHealthClient(conn).Watch(t.Context(), &healthpb.HealthCheckRequest{Service: enrichv1.EnrichService_ServiceDesc.ServiceName})
			if err != nil {
				t.Error(err)
				return
			}
			for _, want := range []healthpb.HealthCheckResponse_ServingStatus{healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING} {
				if state, err := watch.Recv(); err != nil || state.GetStatus() != want {
					t.Errorf("health %s, %v; want %s", state.GetStatus(), err, want)
				}
				b.cancel()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBubble(t, Config{}, unasked(t))
				synctest.Wait()
				began := time.Now()
				begin(t, b)
				synctest.Wait()
				b.stop()
				if took := time.Since(began); took > 3*time.Second {
					t.Errorf("the drain took %s", took)
				}
			})
		})
	}
}

// openCall sends the headers of a call and nothing else.
func openCall(t *testing.T, b *bubble) grpc.ClientStream {
	t.Helper()
	conn := b.client()
	t.Cleanup(func() { _ = conn.Close() })
	stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, enrichv1.EnrichService_Enrich_FullMethodName)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func TestDrainCutsOffAfterItsTimeoutAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{DrainTimeout: 20 * time.Second}, func(ctx context.Context, _ enrich.Request) (enrich.Answer, error) {
			<-ctx.Done()
			return enrich.Answer{}, ctx.Err()
		})
		client, rest := b.client(), b.connect()
		defer client.Close()
		var asking sync.WaitGroup
		defer asking.Wait()
		for range 2 {
			asking.Go(func() {
				if _, err := enrichv1.NewEnrichServiceClient(client).Enrich(t.Context(), emailOf("x")); status.Code(err) != codes.Unavailable {
					t.Errorf("cut off with %v", err)
				}
			})
		}
		rest.send("POST /v1/enrich", "Content-Length: 13", whole)
		synctest.Wait()
		began := time.Now()
		b.stop()
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("the drain took %s", took)
		}
		for _, want := range []string{`"path":"grpc","requests":2`, `"path":"rest","requests":1`} {
			if !strings.Contains(b.log.String(), want) {
				t.Errorf("the log does not say %s: %s", want, b.log)
			}
		}
	})
}

func TestReadyFollowsTheHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, unasked(t))
		ask := func(path string) *httptest.ResponseRecorder {
			answer := httptest.NewRecorder()
			b.server.http.Handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
			return answer
		}
		if answer := ask("/readyz"); answer.Code != http.StatusOK {
			t.Errorf("answered %d while serving", answer.Code)
		}
		b.stop()
		if answer := ask("/readyz"); answer.Code != http.StatusServiceUnavailable || !strings.HasPrefix(answer.Body.String(), "stopping") {
			t.Errorf("answered %d %q while stopping", answer.Code, answer.Body)
		}
		if answer := ask("/healthz"); answer.Code != http.StatusOK {
			t.Errorf("the process is called dead while stopping: %d", answer.Code)
		}
	})
}
