package sinks_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/enrichd/enrichd/sinks"
)

func hook(t *testing.T, private bool, handle http.HandlerFunc, secrets ...string) sinks.Sink {
	t.Helper()
	server := httptest.NewTLSServer(handle)
	if private {
		server.Close()
		server = httptest.NewServer(handle)
	}
	t.Cleanup(server.Close)
	sink, err := sinks.NewWebhook(sinks.WebhookConfig{Name: "hook", URL: server.URL, Secrets: secrets, AllowPrivate: private})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sink.Close() })
	return sink
}

func TestWebhookSignsWithEverySecret(t *testing.T) {
	second := "whsec_" + strings.Repeat("QUJD", 10)
	sink := hook(t, true, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seconds, err := strconv.ParseInt(r.Header.Get("Webhook-Timestamp"), 10, 64)
		if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > time.Minute {
			t.Errorf("sent at %q", r.Header.Get("Webhook-Timestamp"))
		}
		var want []string
		for _, text := range []string{secret, second} {
			parsed, _ := sinks.ParseSecret(text)
			want = append(want, parsed.Sign(r.Header.Get("Webhook-Id"), time.Unix(seconds, 0), body))
		}
		if got := r.Header.Get("Webhook-Signature"); got != strings.Join(want, " ") {
			t.Errorf("signed %q", got)
		}
		if got := r.Header.Get("Idempotency-Key"); got != `"op-1"` {
			t.Errorf("operation key %s", got)
		}
	}, secret, second)
	if err := sink.Deliver(t.Context(), message(1)); err != nil {
		t.Fatal(err)
	}
}

// TestSignatureIsTheStandards signs the example of the Standard Webhooks
// specification.
func TestSignatureIsTheStandards(t *testing.T) {
	parsed, err := sinks.ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := parsed.Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("got %s", got)
	}
}

func TestWebhookReadsTheAnswer(t *testing.T) {
	for _, test := range []struct {
		status int
		after  string
		class  sinks.Class
		wait   time.Duration
	}{
		{http.StatusNoContent, "", "", 0},
		{http.StatusMovedPermanently, "", sinks.Later, 0},
		{http.StatusBadRequest, "", sinks.Refused, 0},
		{http.StatusUnauthorized, "", sinks.Later, 0},
		{http.StatusGone, "", sinks.Gone, 0},
		{http.StatusTooManyRequests, "120", sinks.Later, 2 * time.Minute},
		{http.StatusTooManyRequests, "99999999999", sinks.Later, 24 * time.Hour},
		{http.StatusServiceUnavailable, time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), sinks.Later, time.Hour},
		{http.StatusServiceUnavailable, "soon", sinks.Later, 0},
	} {
		asked := atomic.Int64{}
		sink := hook(t, true, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			w.Header().Set("Location", "/elsewhere")
			w.Header().Set("Retry-After", test.after)
			w.WriteHeader(test.status)
		}, secret)
		failure := sinks.AsError(sink.Deliver(t.Context(), message(1)))
		if failure == nil {
			failure = &sinks.Error{}
		}
		wait := time.Duration(0)
		if !failure.ReadyAt.IsZero() {
			wait = time.Until(failure.ReadyAt)
		}
		if failure.Class != test.class || (wait-test.wait).Abs() > 10*time.Second || asked.Load() != 1 {
			t.Errorf("%d: %+v, after %s, asked %d times", test.status, failure, wait, asked.Load())
		}
		if test.class != sinks.Gone {
			continue
		}
		if again := sinks.AsError(sink.Deliver(t.Context(), message(2))); again.Class != sinks.Gone || asked.Load() != 1 {
			t.Errorf("a receiver that is gone was asked again: %+v", again)
		}
	}
}

func TestWebhookLeavesAFailingReceiverAlone(t *testing.T) {
	asked := atomic.Int64{}
	sink := hook(t, true, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	}, secret)
	var last *sinks.Error
	for n := range 20 {
		last = sinks.AsError(sink.Deliver(t.Context(), message(n)))
	}
	if asked.Load() != 5 || last.Attempted || last.Reason != "breaker_open" || time.Until(last.ReadyAt) < 20*time.Second {
		t.Errorf("asked %d times, then %+v", asked.Load(), last)
	}
}

func TestWebhookRefusesAddressesInside(t *testing.T) {
	sink := hook(t, false, func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }, secret)
	if failure := sinks.AsError(sink.Deliver(t.Context(), message(1))); failure == nil || failure.Reason != "private_address" || failure.Class != sinks.Refused {
		t.Errorf("%+v", failure)
	}
	for _, config := range []sinks.WebhookConfig{
		{URL: "http://hooks.example", Secrets: []string{secret}},
		{URL: "https://hooks.example"},
		{URL: "https://hooks.example", Secrets: []string{"whsec_c2hvcnQ="}},
	} {
		if _, err := sinks.NewWebhook(config); err == nil {
			t.Errorf("%s with %d secrets was accepted", config.URL, len(config.Secrets))
		}
	}
}

// TestProblemsNameTheField has the paths that a configuration's problems begin
// with.
func TestProblemsNameTheField(t *testing.T) {
	for begins, config := range map[string]sinks.Config{
		"webhooks[0].name: ":         {Webhooks: []sinks.WebhookConfig{{URL: "https://crm.example/hook", Secrets: []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}}}},
		"webhooks[0]: url: ":         {Webhooks: []sinks.WebhookConfig{{Name: "crm", URL: "nonsense"}}},
		"webhooks[0]: secrets: none": {Webhooks: []sinks.WebhookConfig{{Name: "crm", URL: "https://crm.example/hook"}}},
		"files[0].path: ":            {Files: []sinks.FileConfig{{Name: "archive"}}},
		"files[0].rotate_bytes: ":    {Files: []sinks.FileConfig{{Name: "archive", Path: "x", RotateBytes: -1}}},
	} {
		if problems := config.Validate(); len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), begins) {
			t.Errorf("%s %v", begins, problems)
		}
	}
}
