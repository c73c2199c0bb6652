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
		for hour := range 3 {
			for range 10 {
				if deliver() || asked != hour+1 {
					t.Fatalf("hour %d: asked %d times", hour, asked)
				}
			}
			time.Sleep(goneFor)
		}
		if status = http.StatusOK; !deliver() {
			t.Error("a receiver that is back gets nothing")
		}
	})
}
