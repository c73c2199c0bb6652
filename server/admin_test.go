package server

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// operatorFake writes down what it is asked for.
type operatorFake struct {
	asked   string
	dropped []enrich.Dropped
	erased  enrich.Erasure
	lifted  enrich.Lifted
}

func (o *operatorFake) Providers(context.Context) ([]enrich.ProviderState, error) {
	return []enrich.ProviderState{{
		Name: "hunter-eu", Definition: "hunter", Health: enrich.ProviderPaused, Breaker: "closed", Calls: 4, HitRate: 0.75, Spent: 1200,
		Pause:    enrich.ProviderPause{Reason: enrich.PausedByQuota, Until: time.Unix(1_800_000_000, 0)},
		Outcomes: map[enrich.Outcome]int64{enrich.Hit: 3, enrich.Miss: 1},
		Limits:   []enrich.LimitLeft{{Name: "day", Unit: enrich.Requests, Amount: 100, Left: 0, ResetAt: time.Unix(1_800_000_000, 0)}, {Name: "rate", Unit: enrich.Requests, Amount: 10, Left: 10}},
	}}, nil
}

func (o *operatorFake) Pause(_ context.Context, provider, reason string, until time.Time) error {
	o.asked = "pause " + provider + " " + reason
	if !until.IsZero() {
		o.asked += " " + until.UTC().Format(time.RFC3339)
	}
	return nil
}

func (o *operatorFake) Resume(_ context.Context, provider string) error {
	if provider != "hunter" {
		return &enrich.Error{Kind: enrich.Invalid, Field: "provider", Reason: "unknown_provider", Offset: -1, Message: "provider: there is none of this name"}
	}
	o.asked = "resume " + provider
	return nil
}

func (o *operatorFake) ForgetProvider(_ context.Context, provider string) error {
	o.asked = "forget " + provider
	return nil
}

func (o *operatorFake) SetSwitch(_ context.Context, set enrich.Switch, off bool) error {
	o.asked = strings.TrimSpace("switch " + string(set.Scope) + " " + set.Name)
	if !off {
		o.asked += " back"
	}
	return nil
}

func (o *operatorFake) Switches(context.Context) ([]enrich.Switch, error) {
	return []enrich.Switch{{Scope: enrich.SwitchAccount, Name: "sales", Reason: "audit", Since: time.Unix(1_800_000_000, 0), Configured: true}}, nil
}

func (o *operatorFake) Forget(_ context.Context, subject enrich.Named) ([]enrich.Dropped, error) {
	o.asked = "forget subject " + subject.Email + subject.Domain
	return o.dropped, nil
}

func (o *operatorFake) Erase(_ context.Context, subject enrich.Named) (enrich.Erasure, error) {
	o.asked = "erase " + subject.Email + subject.Domain
	return o.erased, nil
}

func (o *operatorFake) Lift(_ context.Context, subject enrich.Named) (enrich.Lifted, error) {
	o.asked = "lift " + subject.Email + subject.Domain
	return o.lifted, nil
}

func (o *operatorFake) Reload(context.Context) (enrich.Reloaded, error) {
	o.asked = "reload"
	return enrich.Reloaded{Changed: []string{"router.order", "server.grpc"}, Restart: []string{"server.grpc"}}, nil
}

func TestOperatorsMethodsOverREST(t *testing.T) {
	future := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	operator := &operatorFake{
		dropped: []enrich.Dropped{{Place: "memory", Entries: 1, Done: true}},
		lifted:  enrich.Lifted{Subject: "h1:x", Was: true, Everywhere: true},
		erased:  enrich.Erasure{Subject: "h1:x", At: time.Unix(1_800_000_000, 0), Dropped: []enrich.Dropped{{Place: "redis", Entries: 2, Done: true}}, Suppressed: true},
	}
	edge := start(t, unasked(t), func(_ *Config, parts *Parts) { parts.Operator = operator })
	for _, test := range []struct {
		method, path, body, asked, answer string
		code                              int
	}{
		{"POST", "/v1/providers/hunter:pause", `{"reason":"wrong phones"}`, "pause hunter wrong phones", "{}", 200},
		{"POST", "/v1/providers/hunter:pause", `{"until":"` + future + `"}`, "pause hunter  " + future, "{}", 200},
		{"POST", "/v1/providers/hunter:pause", `{"until":"2020-01-01T00:00:00Z"}`, "", "until: must be in the future", 400},
		{"POST", "/v1/providers/hunter:resume", ``, "resume hunter", "{}", 200},
		{"POST", "/v1/providers/hunter:resume", `{"x":1}`, "", "unknown_field", 400},
		{"POST", "/v1/providers/jane@acme.example:resume", ``, "", "unknown_provider", 400},
		{"POST", "/v1/providers/hunter:forget", ``, "forget hunter", "{}", 200},
		{"POST", "/v1/providers/hunter:burn", ``, "", "unknown_path", 404},
		{"GET", "/v1/providers/hunter:pause", ``, "", "method", 405},
		{"GET", "/v1/providers?page=2", ``, "", "query", 400},
		{"GET", "/v1/switches", ``, "", `"configured":true`, 200},
		{"POST", "/v1/switches", `{"scope":"SWITCH_SCOPE_VENDORS","off":true}`, "switch vendors", "{}", 200},
		{"POST", "/v1/switches", `{"scope":"SWITCH_SCOPE_ACCOUNT","name":"sales"}`, "switch account sales back", "{}", 200},
		{"POST", "/v1/switches", `{"scope":"SWITCH_SCOPE_ACCOUNT","off":true}`, "", `"field":"name"`, 400},
		{"POST", "/v1/switches", `{"scope":"SWITCH_SCOPE_VENDORS","name":"x"}`, "", `"message":"name: is given`, 400},
		{"POST", "/v1/switches", `{"off":true}`, "", "scope", 400},
		{"POST", "/v1/subjects:forget", `{"domain":"acme.example"}`, "forget subject acme.example", `"place":"memory"`, 200},
		{"POST", "/v1/subjects:erase", `{"email":"jane@acme.example"}`, "erase jane@acme.example", `"suppressed":true`, 200},
		{"POST", "/v1/subjects:erase", `{}`, "", "subject", 400},
		{"POST", "/v1/subjects:lift", `{"domain":"acme.example"}`, "lift acme.example", `"lifted":true`, 200},
		{"POST", "/v1/subjects:lift", `{"email":"jane@acme.example","domain":"acme.example"}`, "", "domain: one of email, domain is given", 400},
		{"POST", "/v1/config:reload", ``, "reload", `"restart":["server.grpc"]`, 200},
	} {
		operator.asked = ""
		code, _, body := edge.ask(t, test.method, test.path, test.body)
		if code != test.code || operator.asked != test.asked || !strings.Contains(strings.ReplaceAll(string(body), " ", ""), strings.ReplaceAll(test.answer, " ", "")) || strings.Contains(string(body), "jane") {
			t.Errorf("%s %s %s: asked %q, answered %d %s", test.method, test.path, test.body, operator.asked, code, body)
		}
	}
}

func TestProvidersAreListedOnBothPaths(t *testing.T) {
	edge := start(t, unasked(t), func(_ *Config, parts *Parts) { parts.Operator = &operatorFake{} })
	overGRPC, err := edge.admin.ListProviders(t.Context(), &enrichv1.ListProvidersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	code, _, body := edge.ask(t, http.MethodGet, "/v1/providers", "")
	overREST := &enrichv1.ListProvidersResponse{}
	if err := protojson.Unmarshal(body, overREST); err != nil || code != http.StatusOK || !proto.Equal(overGRPC, overREST) {
		t.Errorf("REST answered %d, %v: %s\ngRPC: %v", code, err, body, overGRPC)
	}
	provider := overGRPC.GetProviders()[0]
	if provider.GetHealth() != "paused" || provider.GetPause().GetReason() != "quota_exhausted" || provider.GetOutcomes()["hit"] != 3 || provider.GetSpentMicros() != 1200 ||
		!proto.Equal(provider.GetLimits()[0].GetResetTime(), timestamppb.New(time.Unix(1_800_000_000, 0))) || provider.GetLimits()[1].GetResetTime() != nil {
		t.Errorf("provider = %v", provider)
	}
}

// TestHalfAnErasureIsNone has places that could not be reached.
func TestHalfAnErasureIsNone(t *testing.T) {
	operator := &operatorFake{dropped: []enrich.Dropped{{Place: "redis", Entries: -1}}}
	edge := start(t, unasked(t), func(_ *Config, parts *Parts) { parts.Operator = operator })
	reached := []enrich.Dropped{{Place: "memory", Done: true}}
	for _, erased := range []enrich.Erasure{{Suppressed: true, Dropped: operator.dropped}, {Dropped: reached}} {
		operator.erased = erased
		_, err := edge.admin.EraseSubject(t.Context(), &enrichv1.EraseSubjectRequest{Subject: &enrichv1.EraseSubjectRequest_Email{Email: "x"}})
		if status.Code(err) != codes.Unavailable || erased.Complete() {
			t.Errorf("%+v: %v", erased, err)
		}
	}
	if _, err := edge.admin.ForgetSubject(t.Context(), &enrichv1.ForgetSubjectRequest{Subject: &enrichv1.ForgetSubjectRequest_Email{Email: "x"}}); status.Code(err) != codes.Unavailable {
		t.Errorf("half of it forgotten: %v", err)
	}
	operator.lifted = enrich.Lifted{Subject: "h1:x", Was: true}
	if _, err := edge.admin.LiftSuppression(t.Context(), &enrichv1.LiftSuppressionRequest{Subject: &enrichv1.LiftSuppressionRequest_Email{Email: "x"}}); status.Code(err) != codes.Unavailable {
		t.Errorf("lifted at one copy of the list alone: %v", err)
	}
	edge.stop()
	if log := edge.log.String(); !strings.Contains(log, `"an operator asks","method":"LiftSuppression","account":"`) {
		t.Errorf("the log does not say who asked: %s", log)
	}
	if whole := (enrich.Erasure{Suppressed: true, Dropped: reached}); !whole.Complete() {
		t.Error("a whole erasure is not complete")
	}
}
