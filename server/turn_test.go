package server

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// remembering is a Reciter that has an answer for addresses that begin with
// "known", and for no others.
type remembering struct{ noReciter }

func (remembering) Recite(_ context.Context, request enrich.Request, _ enrich.RenderedForm) enrich.Recital {
	if !strings.HasPrefix(request.Email, "known") {
		return enrich.Recital{}
	}
	sent, err := proto.Marshal(&enrichv1.EnrichResponse{Email: request.Email, IdempotencyKey: "memory"})
	if err != nil {
		panic(err)
	}
	return enrich.Recital{Sent: sent}
}

func withMemory(parts *Parts) { parts.Reciter = remembering{} }

// listeners is how many goroutines of the bubble answer questions of streams, or are
// idle.
func listeners() (count int) {
	all := make([]byte, 1<<20)
	for stack := range strings.SplitSeq(string(all[:runtime.Stack(all, true)]), "\n\n") {
		if strings.Contains(stack, "synctest bubble") && strings.Contains(stack, "(*conversation).listen(") {
			count++
		}
	}
	return count
}

// TestStreamAnswersFromMemoryBesideWhatWaits has questions that wait between others
// whose answers are in memory.
func TestStreamAnswersFromMemoryBesideWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const width = 4
		leave := make(chan struct{})
		b := newBubble(t, Config{StreamWidth: width}, func(_ context.Context, request enrich.Request) (enrich.Answer, error) {
			<-leave
			if request.Email == "panic" {
				panic("in one answer")
			}
			return enrich.Answer{IdempotencyKey: "asked"}, nil
		}, withMemory)
		client := b.client()
		stream := openStream(t, t.Context(), enrichv1.NewEnrichServiceClient(client))
		send := func(addresses ...string) {
			for _, address := range addresses {
				if err := stream.Send(&enrichv1.StreamEnrichRequest{CorrelationId: address, Request: emailOf(address)}); err != nil {
					t.Error(err)
				}
			}
		}
		answers := make(chan string, 64)
		go func() {
			defer close(answers)
			for {
				switch answer, err := stream.Recv(); {
				case err == io.EOF:
					return
				case err != nil:
					t.Error(err)
					return
				default:
					answers <- fmt.Sprint(answer.GetCorrelationId(), " ", answer.GetResponse().GetIdempotencyKey(), codes.Code(answer.GetError().GetCode()))
				}
			}
		}()
		heard := func() map[string]int {
			synctest.Wait()
			all := map[string]int{}
			for len(answers) > 0 {
				all[<-answers]++
			}
			return all
		}
		for range 10 {
			send("a", "known1", "b", "panic", "known2", "c")
			if got := heard(); len(got) != 2 || got["known1 memoryOK"] != 1 || got["known2 memoryOK"] != 1 {
				t.Errorf("beside %d that wait: %v", width, got)
			}
			send("known3", "known4") // for which there is no room
			if got := heard(); len(got) != 0 {
				t.Errorf("beyond the stream's width: %v", got)
			}
			for range width {
				leave <- struct{}{}
			}
			if got := heard(); len(got) != 6 || got["a askedOK"] != 1 || got["panic Internal"] != 1 || got["known3 memoryOK"] != 1 || got["known4 memoryOK"] != 1 {
				t.Errorf("what waited: %v", got)
			}
			if got := listeners(); got < 2 || got > width+1 {
				t.Errorf("%d goroutines for %d questions", got, width)
			}
		}
		send("a")
		_ = stream.CloseSend()
		synctest.Wait()
		leave <- struct{}{}
		if got := heard(); len(got) != 1 || got["a askedOK"] != 1 {
			t.Errorf("after the last question: %v", got)
		}
		if got := listeners(); got != 0 {
			t.Errorf("%d goroutines have outlived their stream", got)
		}
		_ = client.Close()
		b.stop()
	})
}

// TestDrainEndsStreamsThatNeverPause has a caller who goes on asking for what is in
// memory: each question that was taken has its answer, in order.
func TestDrainEndsStreamsThatNeverPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, unasked(t), withMemory)
		client := b.client()
		stream := openStream(t, t.Context(), enrichv1.NewEnrichServiceClient(client))
		go func() {
			for n := 0; stream.Send(&enrichv1.StreamEnrichRequest{CorrelationId: fmt.Sprint(n), Request: emailOf("known")}) == nil; n++ {
			}
		}()
		for n := 0; ; n++ {
			answer, err := stream.Recv()
			if err != nil {
				if n < 100 || status.Code(err) != codes.Unavailable {
					t.Errorf("after %d answers: %v", n, err)
				}
				break
			}
			if answer.GetCorrelationId() != fmt.Sprint(n) {
				t.Errorf("answer %d is to question %s", n, answer.GetCorrelationId())
			}
			if n == 100 {
				b.cancel()
			}
		}
		if err := <-b.served; err != nil {
			t.Error(err)
		}
		_ = client.Close()
	})
}
