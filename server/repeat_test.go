package server

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// memo keeps answers as Repeats promises, for one caller at a time.
type memo struct {
	kept     map[string]kept
	subjects []email.Key
}

type kept struct {
	fingerprint [32]byte
	answer      []byte
}

func (m *memo) Do(ctx context.Context, account, key string, fingerprint [32]byte, work func(context.Context) ([]byte, []email.Key, error)) ([]byte, error) {
	if known, ok := m.kept[account+" "+key]; ok {
		if known.fingerprint != fingerprint {
			return nil, &enrich.Error{Kind: enrich.Rejected, Reason: enrich.ReasonKeyReused, Offset: -1, Message: "the key was used with another request"}
		}
		return known.answer, nil
	}
	answer, subjects, err := work(ctx)
	if err == nil {
		m.kept[account+" "+key] = kept{fingerprint, answer}
		m.subjects = append(m.subjects, subjects...)
	}
	return answer, err
}

func TestRepeatedRequestsGetTheSameAnswer(t *testing.T) {
	var asked atomic.Int64
	answer := janeAtAcme(t)
	repeats := &memo{kept: map[string]kept{}}
	edge := start(t, func(context.Context, enrich.Request) (enrich.Answer, error) {
		asked.Add(1)
		return answer, nil
	}, func(_ *Config, parts *Parts) { parts.Repeats = repeats })

	request := emailOf("jane.doe@acme.example")
	request.IdempotencyKey = "k1"
	first, err := edge.grpc.Enrich(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	second, err := edge.grpc.Enrich(t.Context(), request)
	if err != nil || !proto.Equal(first, second) || asked.Load() != 1 {
		t.Errorf("repeated: %v, %v after %d questions", second, err, asked.Load())
	}
	if len(repeats.subjects) != 2 || repeats.subjects[0].Reveal() != answer.Address.Key().Reveal() || repeats.subjects[1].Reveal() != answer.Domain.Key().Reveal() {
		t.Errorf("%d subjects, want the person and the company", len(repeats.subjects))
	}
	for _, header := range []string{`"k1"`, "k1"} {
		if code, _, body := edge.ask(t, http.MethodPost, "/v1/enrich", `{"email":"jane.doe@acme.example"}`, "Idempotency-Key: "+header); code != http.StatusOK || asked.Load() != 1 {
			t.Errorf("REST with %s answered %d: %s", header, code, body)
		}
	}
	request.Subject = &enrichv1.EnrichRequest_Email{Email: "john.roe@acme.example"}
	if _, err := edge.grpc.Enrich(t.Context(), request); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("another request with the key: %v", err)
	}
	code, _, body := edge.ask(t, http.MethodPost, "/v1/enrich", `{"email":"john.roe@acme.example"}`, "Idempotency-Key: k1")
	if code != http.StatusUnprocessableEntity || status.Code(failed(t, body)) != codes.FailedPrecondition || asked.Load() != 1 {
		t.Errorf("REST answered %d: %s", code, body)
	}
}

func TestABatchIsKeptWhenNothingInItPasses(t *testing.T) {
	var asked atomic.Int64
	var failing atomic.Bool
	edge := start(t, func(ctx context.Context, request enrich.Request) (enrich.Answer, error) {
		asked.Add(1)
		if failing.Load() {
			return enrich.Answer{}, &enrich.Error{Kind: enrich.Unavailable, Offset: -1, Message: "vendors fail"}
		}
		return echo(ctx, request)
	}, func(_ *Config, parts *Parts) { parts.Repeats = &memo{kept: map[string]kept{}} })
	message := batchOf("a", "bad")
	message.IdempotencyKey = "k"
	for _, test := range []struct {
		failing bool
		asked   int64
	}{{true, 2}, {false, 4}, {false, 4}} {
		failing.Store(test.failing)
		answer, err := edge.grpc.BatchEnrich(t.Context(), message)
		if err != nil || len(answer.GetResults()) != 2 || asked.Load() != test.asked {
			t.Errorf("%v with %v after %d questions, want %d", answer, err, asked.Load(), test.asked)
		}
	}
}

// elsewhere is a Repeats for which somebody else was first.
type elsewhere struct {
	answer []byte
	err    error
	works  bool // the work is done all the same
}

func (e elsewhere) Do(ctx context.Context, _, _ string, _ [32]byte, work func(context.Context) ([]byte, []email.Key, error)) ([]byte, error) {
	if e.works {
		_, _, _ = work(ctx)
	}
	return e.answer, e.err
}

// TestAnswersOfElsewhereWin has the same request answered by another replica, or
// by another caller, whose batch was not kept.
func TestAnswersOfElsewhereWin(t *testing.T) {
	wire, _ := proto.Marshal(&enrichv1.EnrichResponse{IdempotencyKey: "theirs"})
	request, batch := emailOf("ours"), batchOf("ours")
	request.IdempotencyKey, batch.IdempotencyKey = "k", "k"
	for _, works := range []bool{false, true} {
		edge := start(t, echo, func(_ *Config, parts *Parts) { parts.Repeats = elsewhere{answer: wire, works: works} })
		if answer, err := edge.grpc.Enrich(t.Context(), request); err != nil || answer.GetIdempotencyKey() != "theirs" {
			t.Errorf("%v, %v", answer, err)
		}
		edge = start(t, echo, func(_ *Config, parts *Parts) { parts.Repeats = elsewhere{err: errPasses, works: works} })
		if answer, err := edge.grpc.BatchEnrich(t.Context(), batch); err != nil || answer.GetResults()[0].GetResponse().GetIdempotencyKey() != "ours" {
			t.Errorf("%v, %v", answer, err)
		}
	}
}

// silence is a Reciter that tells nothing of some.
type silence struct {
	noReciter
	about atomic.Pointer[string]
}

func (s *silence) MayTell(address, domain string) bool {
	about := s.about.Load()
	return about == nil || *about != address && *about != domain
}

// TestWhoIsSuppressedIsNotToldOfAgain keeps answers, and then suppresses whom
// they tell of.
func TestWhoIsSuppressedIsNotToldOfAgain(t *testing.T) {
	var asked atomic.Int64
	answer, reciter := janeAtAcme(t), &silence{}
	edge := start(t, func(_ context.Context, request enrich.Request) (enrich.Answer, error) {
		asked.Add(1)
		if reciter.about.Load() != nil {
			return enrich.Answer{IdempotencyKey: "suppressed"}, nil
		}
		return answer, nil
	}, func(_ *Config, parts *Parts) { parts.Reciter, parts.Repeats = reciter, &memo{kept: map[string]kept{}} })
	request, batch := emailOf("jane.doe@acme.example"), batchOf("jane.doe@acme.example")
	request.IdempotencyKey, batch.IdempotencyKey = "k", "k"
	ask := func() (string, string) {
		one, err := edge.grpc.Enrich(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		many, err := edge.grpc.BatchEnrich(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		return one.GetIdempotencyKey(), many.GetResults()[0].GetResponse().GetIdempotencyKey()
	}
	ask()
	if ask(); asked.Load() != 2 {
		t.Fatalf("%d questions, want each answer repeated", asked.Load())
	}
	for _, about := range []string{answer.Address.Reveal(), answer.Domain.String()} {
		reciter.about.Store(&about)
		if one, of := ask(); one != "suppressed" || of != "suppressed" {
			t.Errorf("about %s are told %q and %q", about, one, of)
		}
	}
}

// TestNarrowerRightsHoldForKeptAnswers takes an attribute from an account after
// an answer was kept.
func TestNarrowerRightsHoldForKeptAnswers(t *testing.T) {
	accounts := &changing{}
	var asked atomic.Int64
	edge := start(t, func(context.Context, enrich.Request) (enrich.Answer, error) {
		asked.Add(1)
		return enrich.Answer{}, nil
	}, withAccounts(accounts), func(_ *Config, parts *Parts) { parts.Repeats = &memo{kept: map[string]kept{}} })
	request := emailOf("jane.doe@acme.example")
	request.IdempotencyKey = "k"
	for i, account := range []enrich.Account{
		{Name: "sales", Attributes: []enrich.Attribute{"person.title", "person.phone"}},
		{Name: "sales", Attributes: []enrich.Attribute{"person.title"}},
		{Name: "sales", Purposes: map[string][]enrich.Attribute{"outreach": {"person.title"}}},
	} {
		accounts.now.Store(&keyring{"": {Account: account}})
		for range 2 {
			if _, err := edge.grpc.Enrich(t.Context(), request); err != nil || asked.Load() != int64(i+1) {
				t.Errorf("with rights %d: %d questions, %v", i, asked.Load(), err)
			}
		}
	}
}

func TestIdempotencyHeader(t *testing.T) {
	edge := start(t, answered)
	for _, test := range []struct {
		header, path, body string
		want               int
	}{
		{`"a \"quoted\" key"`, "/v1/enrich", `{"email":"x"}`, 400}, // blanks
		{`"a\"b"`, "/v1/enrich", `{"email":"x"}`, 200},
		{`"k" ;a=b`, "/v1/enrich", `{"email":"x"}`, 400},
		{`"k`, "/v1/enrich", `{"email":"x"}`, 400},
		{`""`, "/v1/enrich", `{"email":"x"}`, 400},
		{`"a\b"`, "/v1/enrich", `{"email":"x"}`, 400},
		{"k", "/v1/enrich", `{"email":"x","idempotencyKey":"k"}`, 200},
		{"k", "/v1/enrich", `{"email":"x","idempotencyKey":"other"}`, 400},
		{"k", "/v1/enrich:batch", `{"requests":[{"email":"x"}]}`, 200},
		{"k", "/v1/enrich:stream", `{"request":{"email":"x"}}`, 400},
	} {
		if code, _, body := edge.ask(t, http.MethodPost, test.path, test.body, "Idempotency-Key: "+test.header); code != test.want {
			t.Errorf("%s to %s: answered %d: %s", test.header, test.path, code, body)
		}
	}
}

// TestNoRepeatsWorksEveryTime checks the do-nothing implementation.
func TestNoRepeatsWorksEveryTime(t *testing.T) {
	wrong := errors.New("wrong")
	for _, want := range []error{nil, wrong} {
		answer, err := noRepeats{}.Do(t.Context(), "a", "k", [32]byte{}, func(context.Context) ([]byte, []email.Key, error) { return []byte("x"), nil, want })
		if err != want || string(answer) != "x" {
			t.Errorf("%q, %v", answer, err)
		}
	}
}
