package server

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// broken sends bytes that are no message.
type broken struct{}

func (broken) Marshal(any) ([]byte, error) { return []byte{0xff}, nil }
func (broken) Unmarshal([]byte, any) error { return nil }
func (broken) Name() string                { return "proto" }

// TestCallsWithoutAMessageAreForgotten has callers who leave before their message,
// and some whose message is none: gRPC ends both before any interceptor hears of
// them.
func TestCallsWithoutAMessageAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, unasked(t))
		waiting := func() int {
			b.server.arrivals.mu.Lock()
			defer b.server.arrivals.mu.Unlock()
			return len(b.server.arrivals.waiting)
		}
		client := b.client()
		patient := openCall(t, b)
		for range 10 * fewArrivals {
			ctx, cancel := context.WithCancel(t.Context())
			if _, err := client.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, enrichv1.EnrichService_Enrich_FullMethodName); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			cancel()
			if err := client.Invoke(t.Context(), enrichv1.EnrichService_Enrich_FullMethodName, emailOf("x"), &enrichv1.EnrichResponse{}, grpc.ForceCodec(broken{})); status.Code(err) != codes.Internal {
				t.Fatalf("what is no message: %v", err)
			}
			synctest.Wait()
			if got := waiting(); got > 2*fewArrivals {
				t.Fatalf("%d calls are waited for, of which one is under way", got)
			}
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if err := patient.RecvMsg(&enrichv1.EnrichResponse{}); status.Code(err) != codes.Canceled || waiting() != 0 || b.server.arrivals.armed {
			t.Errorf("%d calls are waited for after the longest time; the one under way ended with %v", waiting(), err)
		}
		_ = client.Close()
		b.stop()
	})
}

// TestDrainLeavesMessagesAMoment has a message that comes while the service stops.
func TestDrainLeavesMessagesAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, answered)
		call, silent := openCall(t, b), openCall(t, b)
		synctest.Wait()
		began := time.Now()
		b.cancel()
		time.Sleep(arrivalGrace - 1)
		if err := call.SendMsg(emailOf("x")); err != nil {
			t.Error(err)
		}
		_ = call.CloseSend()
		if err := call.RecvMsg(&enrichv1.EnrichResponse{}); err != nil {
			t.Errorf("a message that came in time: %v", err)
		}
		if err := silent.RecvMsg(&enrichv1.EnrichResponse{}); err == nil || time.Since(began) != arrivalGrace {
			t.Errorf("none came: %v after %s", err, time.Since(began))
		}
		if err := <-b.served; err != nil {
			t.Error(err)
		}
	})
}
