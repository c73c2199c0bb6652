package server

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// finished is a response whose handler has returned, which panics over HTTP/2 when
// anything is asked of it.
type finished struct{ http.ResponseWriter }

func (finished) SetReadDeadline(time.Time) error { panic("the handler has returned") }

// TestNothingIsReadOfAStreamThatHasEnded has listeners that come to their next
// question when a drain has ended their stream already.
func TestNothingIsReadOfAStreamThatHasEnded(t *testing.T) {
	ended := &lines{reader: bufio.NewReader(strings.NewReader(whole)), longest: 100, control: http.NewResponseController(httptest.NewRecorder())}
	ended.end()
	ended.control = http.NewResponseController(finished{})
	if question, err := ended.Recv(); err != io.EOF {
		t.Errorf("received %v, %v", question, err)
	}

	edge := start(t, unasked(t))
	edge.server.beginDrain()
	for range 100 { // for the race detector
		ctx, call := begin(t.Context())
		call.method = methods[enrichv1.EnrichService_StreamEnrich_FullMethodName]
		edge.server.streamREST(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/enrich:stream", http.NoBody), call)
	}
}

// startled is a part that panics: as accounts, when it is asked who asks the second
// question of a stream; as observer, when it is told of one.
type startled struct {
	keyring
	accounts, observer bool
	asked              atomic.Int64
}

func (s *startled) ByKey(key string) (Caller, bool) {
	if s.asked.Add(1) == 3 && s.accounts { // the first was the gate
		panic("among the accounts")
	}
	return s.keyring.ByKey(key)
}

func (s *startled) Finished(_ context.Context, method, _, _, _ string, _ time.Duration) {
	if s.observer && strings.HasSuffix(method, ".item") {
		panic("in the observer")
	}
}

// voiceless is an exchange that panics.
type voiceless struct{ hears bool }

func (v voiceless) Recv() (*enrichv1.StreamEnrichRequest, error) {
	if !v.hears {
		panic("in Recv")
	}
	return questionOf(1), nil
}

func (voiceless) Send(*enrichv1.StreamEnrichResponse) error { panic("in Send") }

// TestPanicsInStreamsStayThere has panics around the answer to a question: they end
// it, or its stream, and not the program.
func TestPanicsInStreamsStayThere(t *testing.T) {
	for _, part := range []*startled{{keyring: ring(), accounts: true}, {keyring: ring(), observer: true}} {
		edge := start(t, echo, withAccounts(part), func(_ *Config, parts *Parts) { parts.Observer = part })
		stream := openStream(t, showing(t.Context(), "sales-key"), edge.grpc)
		var ended error
		for i := range 2 {
			_ = stream.Send(questionOf(i))
			answer, err := stream.Recv()
			if ended = err; err == nil {
				ended = status.FromProto(answer.GetError()).Err()
			}
		}
		if status.Code(ended) != codes.Internal {
			t.Errorf("accounts %t: ended with %v", part.accounts, ended)
		}
		if _, err := edge.grpc.Enrich(showing(t.Context(), "sales-key"), emailOf("x")); err != nil {
			t.Errorf("accounts %t: afterwards: %v", part.accounts, err)
		}
		if held := len(edge.server.asking); held != 0 {
			t.Errorf("accounts %t: %d questions are still under way", part.accounts, held)
		}
	}
	edge := start(t, echo)
	for _, exchange := range []voiceless{{hears: false}, {hears: true}} {
		ctx, call := begin(t.Context())
		call.method = methods[enrichv1.EnrichService_StreamEnrich_FullMethodName]
		if err := edge.server.converse(ctx, call, credential{}, exchange); status.Code(err) != codes.Internal {
			t.Errorf("hears %t: ended with %v", exchange.hears, err)
		}
	}
}
