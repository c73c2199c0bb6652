package sinks

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// answers stands in for the receiver.
type answers func() int

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a(), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}, nil
}

// TestAReceiverThatWasGoneIsTriedAgain, once an hour while it stays gone.
func TestAReceiverThatWasGoneIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := NewWebhook(WebhookConfig{Name: "crm", URL: "https://crm.example.com/in", Secrets: []string{"whsec_bWFueSByYW5kb20gYnl0ZXMgb2YgdGhpcyBzZWNyZXQ="}})
		if err != nil {
			t.Fatal(err)
		}
		asked, status := 0, http.StatusGone
		w.client.Transport = answers(func() int { asked++; return status })
		deliver := func() bool { return w.Deliver(t.Context(), Message{ID: "m"}) == nil }
		replay := func() bool { return w.Deliver(t.Context(), Message{ID: "m", Replayed: true}) == nil }
		for hour := range 3 {
			for range 10 {
				if deliver() || asked != hour+1 {
					t.Fatalf("hour %d: asked %d times", hour, asked)
				}
			}
			time.Sleep(goneFor)
		}
		if deliver() || replay() || asked != 5 {
			t.Errorf("asked %d times, want once more for a person's replay", asked)
		}
		if status = http.StatusOK; deliver() || !replay() || !deliver() {
			t.Error("a receiver that a replay finds back gets nothing")
		}
	})
}
