package deadletter_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/enrichd/enrichd/deadletter"
)

// receiver notes the ids of the digests that it is sent.
type receiver struct {
	mu    sync.Mutex
	sent  []string
	fails bool
	told  []error
}

// daily is one process's.
func (r *receiver) daily(t *testing.T, inbox *deadletter.Inbox, config deadletter.Config) *deadletter.Daily {
	return &deadletter.Daily{Inbox: inbox, Config: config, Sent: func(err error) { r.told = append(r.told, err) },
		Send: func(_ context.Context, id string, body []byte) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			if !strings.Contains(string(body), `"unavailable"`) || strings.Contains(string(body), "@") {
				t.Errorf("sent %s", body)
			}
			if r.sent = append(r.sent, id); r.fails {
				return errors.New("the receiver is away")
			}
			return nil
		}}
}

func TestDailySendsOneDigestADay(t *testing.T) {
	inbox, _ := open(t)
	to := &receiver{}
	config := deadletter.Config{At: "08:00", Zone: "Asia/Tokyo", Waits: time.Hour, Open: time.Hour}
	daily := to.daily(t, inbox, config)
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 2).Add(-9 * time.Hour) // midnight there
	step := func(at time.Duration, fail bool) {
		t.Helper()
		to.fails = fail
		if err := daily.SendDue(t.Context(), day.Add(at)); (err != nil) != fail {
			t.Errorf("at %s: %v", at, err)
		}
	}
	step(7*time.Hour, false) // nothing to tell
	bury(t, inbox, "unavailable", "a@lovelace.example")
	step(7*time.Hour+30*time.Minute, false) // of a day that has been told of
	step(8*time.Hour, true)
	step(8*time.Hour+time.Minute, false) // too soon after a failure
	if len(to.sent) != 1 || len(to.told) != 1 || to.told[0] == nil {
		t.Errorf("sent %v with %v", to.sent, to.told)
	}
	daily = to.daily(t, inbox, config) // the process starts anew
	step(8*time.Hour+11*time.Minute, false)
	step(20*time.Hour, false)
	step(32*time.Hour, false)
	date := day.Add(9 * time.Hour)
	first, second := "digest-"+date.Format(time.DateOnly), "digest-"+date.AddDate(0, 0, 1).Format(time.DateOnly)
	if want := []string{first, first, second}; !slices.Equal(to.sent, want) {
		t.Errorf("sent %v, want %v", to.sent, want)
	}
}

// TestAShutdownIsNoFailedDigest ends the process while a digest is sent: nobody is
// told of a failure, and the next process sends it.
func TestAShutdownIsNoFailedDigest(t *testing.T) {
	inbox, _ := open(t)
	bury(t, inbox, "unavailable", "a@lovelace.example")
	to := &receiver{}
	due := time.Now().AddDate(0, 0, 2)
	ctx, end := context.WithCancel(t.Context())
	daily := to.daily(t, inbox, deadletter.Config{})
	daily.Send = func(ctx context.Context, _ string, _ []byte) error { end(); return ctx.Err() }
	if err := daily.SendDue(ctx, due); !errors.Is(err, context.Canceled) || len(to.told) > 0 {
		t.Errorf("the shutdown is %v, told %v", err, to.told)
	}
	if err := to.daily(t, inbox, deadletter.Config{}).SendDue(t.Context(), due.Add(time.Hour)); err != nil || len(to.sent) != 1 {
		t.Errorf("then sent %v, %v", to.sent, err)
	}
}

// TestOneOfManyProcessesSendsTheDigest has all replicas notice at once that it is
// time.
func TestOneOfManyProcessesSendsTheDigest(t *testing.T) {
	inbox, _ := open(t)
	bury(t, inbox, "unavailable", "a@lovelace.example")
	to := &receiver{}
	due := time.Now().AddDate(0, 0, 2)
	var all sync.WaitGroup
	for range 8 {
		daily := to.daily(t, inbox, deadletter.Config{})
		daily.Sent = func(error) {}
		all.Go(func() {
			if err := daily.SendDue(t.Context(), due); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(to.sent) != 1 {
		t.Errorf("sent %v, want one digest", to.sent)
	}
}

func TestConfigNamesWhatCannotBeObeyed(t *testing.T) {
	good := deadletter.Config{URL: "https://ops.example/digest", Secrets: []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, At: "6:30", Zone: "Europe/Berlin"}
	if problems := good.Validate(); len(problems) > 0 {
		t.Errorf("a good one: %v", problems)
	}
	if problems := (deadletter.Config{}).Validate(); len(problems) > 0 {
		t.Errorf("none at all: %v", problems)
	}
	for field, spoil := range map[string]func(*deadletter.Config){
		"at": func(c *deadletter.Config) { c.At = "noon" }, "zone": func(c *deadletter.Config) { c.Zone = "Mars/Olympus" },
		"waits": func(c *deadletter.Config) { c.Waits = -1 }, "open": func(c *deadletter.Config) { c.Open = -1 },
		"url": func(c *deadletter.Config) { c.URL = "http://ops.example" }, "secrets": func(c *deadletter.Config) { c.Secrets = nil },
	} {
		bad := good
		spoil(&bad)
		if problems := bad.Validate(); len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), field+": ") || strings.Count(problems[0].Error(), ": ") != 1 {
			t.Errorf("%s: %v", field, problems)
		}
	}
}
