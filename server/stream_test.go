package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

type answerStream = grpc.BidiStreamingClient[enrichv1.StreamEnrichRequest, enrichv1.StreamEnrichResponse]

func questionOf(number int) *enrichv1.StreamEnrichRequest {
	return &enrichv1.StreamEnrichRequest{CorrelationId: fmt.Sprint(number), Request: emailOf(fmt.Sprint(number))}
}

func openStream(t *testing.T, ctx context.Context, client enrichv1.EnrichServiceClient) answerStream {
	t.Helper()
	stream, err := client.StreamEnrich(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func TestStreamAnswersEveryQuestion(t *testing.T) {
	told := &tally{}
	edge := start(t, echo, func(_ *Config, parts *Parts) { parts.Observer = told })
	stream := openStream(t, t.Context(), edge.grpc)
	go func() {
		for i := range 1000 {
			_ = stream.Send(questionOf(i))
		}
		_ = stream.Send(&enrichv1.StreamEnrichRequest{CorrelationId: "bad", Request: emailOf("bad")})
		_ = stream.Send(&enrichv1.StreamEnrichRequest{CorrelationId: "empty"})
		_ = stream.Send(&enrichv1.StreamEnrichRequest{CorrelationId: strings.Repeat("x", 256), Request: emailOf("x")})
		_ = stream.CloseSend()
	}()
	answers, failures := map[string]int{}, map[string]codes.Code{}
	for {
		answer, err := stream.Recv()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if answer.GetResponse() == nil {
			failures[answer.GetCorrelationId()[:3]] = status.FromProto(answer.GetError()).Code()
			continue
		}
		if answer.GetResponse().GetIdempotencyKey() != answer.GetCorrelationId() {
			t.Fatalf("%v has another's answer", answer)
		}
		answers[answer.GetCorrelationId()]++
	}
	if len(answers) != 1000 || len(failures) != 3 || failures["bad"] != codes.InvalidArgument || failures["emp"] != codes.InvalidArgument || failures["xxx"] != codes.InvalidArgument {
		t.Errorf("%d answers, failures %v", len(answers), failures)
	}
	if heard := told.heard(); len(heard) != 1004 && len(heard) != 1003 { // the call's own end may be told later
		t.Errorf("the observer heard of %d", len(heard))
	}
}

// TestStreamHoldsTheCallerBack has answers that do not come: no more than the
// stream's width is taken, and when they come all are.
func TestStreamHoldsTheCallerBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var under, most atomic.Int64
		leave := make(chan struct{})
		b := newBubble(t, Config{StreamWidth: 4, MaxRequests: 6}, func(context.Context, enrich.Request) (enrich.Answer, error) {
			most.Store(max(most.Load(), under.Add(1)))
			<-leave
			under.Add(-1)
			return enrich.Answer{}, nil
		})
		client := b.client()
		var streams [2]answerStream
		for i := range streams {
			streams[i] = openStream(t, t.Context(), enrichv1.NewEnrichServiceClient(client))
			for number := range 20 {
				_ = streams[i].Send(questionOf(number))
			}
			_ = streams[i].CloseSend()
			synctest.Wait()
		}
		if got := under.Load(); got != 6 {
			t.Errorf("%d questions are under way, want 4 of one stream and 2 of the other", got)
		}
		close(leave)
		for _, stream := range streams {
			count := 0
			for ; ; count++ {
				if _, err := stream.Recv(); err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if count != 20 {
				t.Errorf("%d answers, want 20", count)
			}
		}
		_ = client.Close()
		b.stop()
	})
}

// TestDeafCallersKeepNobodyElseWaiting has a caller that reads no answers: its
// stream stops, others go on.
func TestDeafCallersKeepNobodyElseWaiting(t *testing.T) {
	big := enrich.Answer{IdempotencyKey: strings.Repeat("x", 100<<10)}
	edge := start(t, func(context.Context, enrich.Request) (enrich.Answer, error) { return big, nil },
		func(config *Config, _ *Parts) { config.MaxRequests = 4; config.StreamWidth = 2 })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 3 { // one slot is for the other's call
		deaf := openStream(t, ctx, edge.grpc)
		for i := range 10 {
			_ = deaf.Send(questionOf(i))
		}
	}
	for range 5 {
		if _, err := edge.grpc.Enrich(t.Context(), emailOf("x"), grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStreamsEndWithTheirCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := make(chan struct{})
		b := newBubble(t, Config{}, func(ctx context.Context, _ enrich.Request) (enrich.Answer, error) {
			<-ctx.Done()
			close(left)
			return enrich.Answer{}, ctx.Err()
		})
		client := b.client()
		ctx, cancel := context.WithCancel(t.Context())
		stream := openStream(t, ctx, enrichv1.NewEnrichServiceClient(client))
		_ = stream.Send(questionOf(1))
		synctest.Wait()
		cancel()
		<-left
		synctest.Wait()
		if under := b.server.load.grpc.Load(); under != 0 {
			t.Errorf("%d requests are under way", under)
		}
		_ = client.Close()
		b.stop()
	})
}

// TestDrainEndsStreams has one question under way: it is answered, and no further
// one is taken.
func TestDrainEndsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leave := make(chan struct{})
		b := newBubble(t, Config{}, func(context.Context, enrich.Request) (enrich.Answer, error) {
			<-leave
			return enrich.Answer{IdempotencyKey: "done"}, nil
		})
		client := b.client()
		stream := openStream(t, t.Context(), enrichv1.NewEnrichServiceClient(client))
		_ = stream.Send(questionOf(1))
		synctest.Wait()
		b.cancel()
		synctest.Wait()
		close(leave)
		answer, err := stream.Recv()
		if err != nil || answer.GetResponse().GetIdempotencyKey() != "done" {
			t.Errorf("the question under way was lost: %v, %v", answer, err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
			t.Errorf("the stream ended with %v", err)
		}
		if err := <-b.served; err != nil {
			t.Error(err)
		}
		_ = client.Close()
	})
}

func TestStreamsWaitForTheAccountsRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caller := Caller{Account: enrich.Account{Name: "sales"}, Rate: Rate{Requests: 2, Window: 20 * time.Second}}
		b := newBubble(t, Config{}, echo, func(parts *Parts) { parts.Accounts = keyring{"": caller} })
		client := b.client()
		began := time.Now()
		stream := openStream(t, t.Context(), enrichv1.NewEnrichServiceClient(client))
		for i := range 4 {
			_ = stream.Send(questionOf(i))
		}
		_ = stream.CloseSend()
		for range 4 {
			if answer, err := stream.Recv(); err != nil || answer.GetResponse() == nil {
				t.Fatalf("%v, %v", answer, err)
			}
		}
		if took := time.Since(began); took != 20*time.Second {
			t.Errorf("four questions at two in 20 s took %s", took)
		}
		_ = client.Close()
		b.stop()
	})
}

// changing are accounts that a test changes under way.
type changing struct{ now atomic.Pointer[keyring] }

func (c *changing) ByKey(key string) (Caller, bool)   { return c.now.Load().ByKey(key) }
func (c *changing) ByName(name string) (Caller, bool) { return c.now.Load().ByName(name) }

// TestStreamsOutliveNoKey takes rights, and at last the key, from an account
// whose stream is open: each question is asked with what is allowed then.
func TestStreamsOutliveNoKey(t *testing.T) {
	accounts := &changing{}
	let := func(ring keyring) { accounts.now.Store(&ring) }
	let(ring())
	var lanes atomic.Int64
	edge := start(t, func(_ context.Context, request enrich.Request) (enrich.Answer, error) {
		lanes.Store(int64(len(request.Account.Lanes)))
		return enrich.Answer{}, nil
	}, withAccounts(accounts))

	stream := openStream(t, showing(t.Context(), "sales-key"), edge.grpc)
	body, send := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, edge.http+"/v1/enrich:stream", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Api-Key", "sales-key")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	for want := range int64(3) {
		let(keyring{"sales-key": {Account: enrich.Account{Name: "sales", Lanes: make([]enrich.Lane, want)}}})
		_ = stream.Send(questionOf(1))
		if answer, err := stream.Recv(); err != nil || answer.GetResponse() == nil || lanes.Swap(-1) != want {
			t.Errorf("gRPC with %d lanes: %v, %v", want, answer, err)
		}
		_, _ = io.WriteString(send, `{"request":{"email":"x"}}`+"\n")
		if line, err := lines.ReadString('\n'); err != nil || lanes.Swap(-1) != want {
			t.Errorf("REST with %d lanes: %q, %v", want, line, err)
		}
	}
	let(keyring{})
	_ = stream.Send(questionOf(1))
	if answer, err := stream.Recv(); status.Code(err) != codes.Unauthenticated {
		t.Errorf("gRPC without the key: %v, %v", answer, err)
	}
	_, _ = io.WriteString(send, `{"request":{"email":"x"}}`+"\n")
	var last enrichv1.StreamEnrichResponse
	if rest, err := io.ReadAll(lines); err != nil || protojson.Unmarshal(rest, &last) != nil || codes.Code(last.GetError().GetCode()) != codes.Unauthenticated {
		t.Errorf("REST without the key: %q, %v", rest, err)
	}
	_ = send.Close()
	if lanes.Load() != -1 {
		t.Error("a question without the key reached the service")
	}
}

// TestLines talks over REST, with HTTP/1.1 and HTTP/2: each question is sent after
// the answer to the one before.
func TestLines(t *testing.T) {
	t.Run("HTTP/1.1", func(t *testing.T) { talkInLines(t, start(t, echo).http, http.DefaultClient, 1) })
	t.Run("HTTP/2", func(t *testing.T) {
		ours := newAuthority(t)
		edge := secured(t, t.TempDir(), ours, false)
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: ours.trusting(), ForceAttemptHTTP2: true}}
		talkInLines(t, strings.Replace(edge.http, "http://", "https://", 1), client, 2)
		client.CloseIdleConnections()
	})
}

func talkInLines(t *testing.T, address string, client *http.Client, version int) {
	body, send := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/v1/enrich:stream", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", ndjson)
	request.Header.Set("X-Api-Key", "sales-key")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.ProtoMajor != version {
		t.Errorf("it speaks %s", response.Proto)
	}
	if kind := response.Header.Get("Content-Type"); kind != ndjson || response.StatusCode != http.StatusOK {
		t.Fatalf("answered %s as %s", response.Status, kind)
	}
	answers := bufio.NewScanner(response.Body)
	for _, test := range []struct{ line, id, key, class string }{
		{`{"correlationId":"1","request":{"email":"jane"}}`, "1", "jane", ""},
		{"\n  \n" + `{"correlation_id":"2","request":{"email":"joe","fields":"person.linkedin_url"}}`, "2", "joe", ""},
		{`{"correlationId":"3","request":{"email":"bad"}}`, "3", "", "syntax"},
		{`{"correlationId":"4","request":{"emial":"x"}}`, "", "", "unknown_field"},
		{`{"correlationId":`, "", "", "malformed_json"},
		{`[]`, "", "", "wrong_value"},
		{`{"correlationId":"5","request":{"email":"after"}}`, "5", "after", ""},
	} {
		_, _ = io.WriteString(send, test.line+"\n")
		if !answers.Scan() {
			t.Fatalf("no answer to %s: %v", test.line, answers.Err())
		}
		answer := &enrichv1.StreamEnrichResponse{}
		if err := protojson.Unmarshal(answers.Bytes(), answer); err != nil {
			t.Fatal(err)
		}
		if class := classOf(status.FromProto(answer.GetError()).Err()); answer.GetCorrelationId() != test.id || answer.GetResponse().GetIdempotencyKey() != test.key || class != test.class {
			t.Errorf("%s: answered %s", test.line, answers.Bytes())
		}
	}
	_, _ = io.WriteString(send, `{"correlationId":"last","request":{"email":"last"}}`) // without a line end
	_ = send.Close()
	if !answers.Scan() || !strings.Contains(answers.Text(), "last") || answers.Scan() {
		t.Errorf("the end: %s", answers.Text())
	}
}

func TestLinesThatBreakTheStream(t *testing.T) {
	edge := start(t, echo)
	for name, test := range map[string]struct {
		body  io.Reader
		class string
	}{
		"too long":  {strings.NewReader(`{"correlationId":"1","request":{"email":"a"}}` + "\n" + strings.Repeat("x", 65<<10)), "too_long"},
		"abandoned": {io.MultiReader(strings.NewReader("{\"correlationId\":\"1\",\"request\":{\"email\":\"a\"}}\n"), errReader{}), ""},
	} {
		response, err := http.Post(edge.http+"/v1/enrich:stream", ndjson, test.body)
		if err != nil {
			if name != "abandoned" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if test.class != "" && !strings.Contains(string(text), test.class) {
			t.Errorf("%s: answered %s", name, text)
		}
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("the caller stumbles") }

func TestSilentLinesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, echo)
		rest, began := b.connect(), time.Now()
		rest.send("POST /v1/enrich:stream", "Transfer-Encoding: chunked", "")
		response, body := rest.receive()
		if response.StatusCode != http.StatusOK || !strings.Contains(string(body), "idle") || time.Since(began) != idleTimeout {
			t.Errorf("answered %s after %s: %s", response.Status, time.Since(began), body)
		}
		rest, began = b.connect(), time.Now()
		rest.send("POST /v1/enrich:stream", "Transfer-Encoding: chunked", "")
		go func() { time.Sleep(time.Second); b.cancel() }()
		if _, body := rest.receive(); !strings.Contains(string(body), "stopping") || time.Since(began) != time.Second {
			t.Errorf("a drain ended it after %s: %s", time.Since(began), body)
		}
		if err := <-b.served; err != nil {
			t.Error(err)
		}
	})
}
