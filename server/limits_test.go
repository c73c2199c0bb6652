package server

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

func TestBodiesMustArriveInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, unasked(t))
		rest, began := b.connect(), time.Now()
		rest.send("POST /v1/enrich", "Content-Length: 100", `{"email"`)
		response, body := rest.receive()
		problem := failed(t, body)
		if response.StatusCode != http.StatusRequestTimeout || status.Code(problem) != codes.DeadlineExceeded || !response.Close || time.Since(began) != 30*time.Second {
			t.Errorf("answered %s after %s: %s", response.Status, time.Since(began), body)
		}
		began = time.Now()
		if err := openCall(t, b).RecvMsg(&enrichv1.EnrichResponse{}); err == nil || time.Since(began) != 30*time.Second {
			t.Errorf("gRPC ended with %v after %s", err, time.Since(began))
		}
		b.stop()
	})
}

// TestBodyTimeoutDoesNotEndLongRequests has requests that take longer than
// their body may, on connections that are used again afterwards.
func TestBodyTimeoutDoesNotEndLongRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, func(ctx context.Context, _ enrich.Request) (enrich.Answer, error) {
			select {
			case <-time.After(time.Minute):
				return enrich.Answer{}, nil
			case <-ctx.Done():
				return enrich.Answer{}, ctx.Err()
			}
		})
		client, rest := b.client(), b.connect()
		for range 2 {
			rest.send("POST /v1/enrich", "Content-Length: 13", whole)
			if response, body := rest.receive(); response.StatusCode != http.StatusOK || response.Close {
				t.Errorf("REST: %s, close %t: %s", response.Status, response.Close, body)
			}
			if _, err := enrichv1.NewEnrichServiceClient(client).Enrich(t.Context(), emailOf("x")); err != nil {
				t.Errorf("gRPC: %v", err)
			}
		}
		rest.send("POST /v1/enrich", "Content-Length: 13\r\nExpect: 100-continue", "")
		if asked, err := http.ReadResponse(rest.reader, nil); err != nil || asked.StatusCode != http.StatusContinue {
			t.Errorf("the body was not asked for: %v", err)
		}
		if _, err := io.WriteString(rest, whole); err != nil {
			t.Error(err)
		}
		if response, _ := rest.receive(); response.StatusCode != http.StatusOK {
			t.Errorf("after a pause: %s", response.Status)
		}
		_ = client.Close()
		b.stop()
	})
}

func TestAnswersMustBeAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, answered)
		rest, began := b.connect(), time.Now()
		rest.send("POST /v1/enrich", "Content-Length: 13", whole)
		synctest.Wait()
		time.Sleep(31 * time.Second)
		if _, err := bufio.NewReader(rest).ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("the connection of a caller who does not read lives on after %s: %v", time.Since(began), err)
		}
		b.stop()
	})
}

func TestTooManyRequestsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leave := make(chan struct{})
		b := newBubble(t, Config{MaxRequests: 2}, func(context.Context, enrich.Request) (enrich.Answer, error) {
			<-leave
			return enrich.Answer{}, nil
		})
		client, busy, rest := b.client(), b.connect(), b.connect()
		service := enrichv1.NewEnrichServiceClient(client)
		done := make(chan error, 1)
		go func() {
			_, err := service.Enrich(t.Context(), emailOf("x"))
			done <- err
		}()
		busy.send("POST /v1/enrich", "Content-Length: 13", whole[:5]) // counts from its first byte
		synctest.Wait()

		_, err := service.Enrich(t.Context(), emailOf("x"))
		if status.Code(err) != codes.Unavailable || detail[*errdetails.RetryInfo](err).GetRetryDelay().AsDuration() != time.Second {
			t.Errorf("gRPC: %v", err)
		}
		go rest.send("POST /v1/enrich", "Content-Length: 13", whole)
		response, body := rest.receive()
		if status.Code(failed(t, body)) != codes.Unavailable || response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") != "1" {
			t.Errorf("REST: %s %v: %s", response.Status, response.Header, body)
		}
		if _, err := healthpb.NewHealthClient(client).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
			t.Errorf("a full service is called unhealthy: %v", err)
		}

		close(leave)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, err := io.WriteString(busy, whole[5:]); err != nil {
			t.Error(err)
		}
		if response, _ := busy.receive(); response.StatusCode != http.StatusOK {
			t.Errorf("REST under way: %s", response.Status)
		}
		if _, err := service.Enrich(t.Context(), emailOf("x")); err != nil {
			t.Errorf("after the rush: %v", err)
		}
		if grpc, rest := b.server.load.grpc.Load(), b.server.load.rest.Load(); grpc != 0 || rest != 0 {
			t.Errorf("%d and %d requests under way, want none", grpc, rest)
		}
		_ = client.Close()
		b.stop()
	})
}

func TestStreamsOfAConnectionAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		entered, leave := make(chan struct{}, 3), make(chan struct{})
		b := newBubble(t, Config{MaxStreams: 2}, func(context.Context, enrich.Request) (enrich.Answer, error) {
			entered <- struct{}{}
			<-leave
			return enrich.Answer{}, nil
		})
		client := b.client()
		done := make(chan error, 3)
		client.Connect()
		synctest.Wait()
		for range 3 {
			go func() {
				_, err := enrichv1.NewEnrichServiceClient(client).Enrich(t.Context(), emailOf("x"))
				done <- err
			}()
		}
		synctest.Wait()
		if len(entered) != 2 {
			t.Errorf("%d calls of one connection are under way, want 2", len(entered))
		}
		close(leave)
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		_ = client.Close()
		b.stop()
	})
}
