package router

import (
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
)

var someday = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// calm is a situation in which everything is possible and somebody else could be
// asked.
func calm(outcome enrich.Outcome) situation {
	return situation{
		reply:     providers.Reply{Outcome: outcome},
		failures:  1,
		attempts:  3,
		retry:     true,
		now:       someday,
		latest:    someday.Add(30 * time.Second),
		last:      someday.Add(40 * time.Second),
		patience:  time.Second,
		backoff:   250 * time.Millisecond,
		pollEvery: 3 * time.Second,
		pause:     5 * time.Second,
		block:     time.Minute,
	}
}

func hinted(s situation, wait time.Duration) situation {
	s.reply.Wait = &wait
	return s
}

func TestEveryOutcomeHasItsReaction(t *testing.T) {
	poll := &providers.Step{Operation: "poll", Poll: true}
	with := func(s situation, change func(*situation)) situation { change(&s); return s }
	for name, c := range map[string]struct {
		given situation
		want  reaction
	}{
		"hit":     {calm(enrich.Hit), reaction{move: settle, reason: "hit"}},
		"partial": {calm(enrich.Partial), reaction{move: settle, reason: "partial"}},
		"miss":    {calm(enrich.Miss), reaction{move: settle, reason: "miss"}},

		"suppressed stops": {calm(enrich.Suppressed), reaction{move: stop, reason: "suppressed"}},
		"suppressed, policy allows others": {
			with(calm(enrich.Suppressed), func(s *situation) { s.askBeyondSuppressed = true }),
			reaction{move: settle, reason: "suppressed"}},

		"pending without hint": {
			with(calm(enrich.Pending), func(s *situation) { s.reply.Next = poll }),
			reaction{move: follow, reason: "pending", wait: 3 * time.Second}},
		"pending with hint": {
			with(hinted(calm(enrich.Pending), 9*time.Second), func(s *situation) { s.reply.Next = poll }),
			reaction{move: follow, reason: "pending", wait: 9 * time.Second}},
		"pending with the definition's delay": {
			with(calm(enrich.Pending), func(s *situation) { s.reply.Next = &providers.Step{Poll: true, Delay: 7 * time.Second} }),
			reaction{move: follow, reason: "pending", wait: 7 * time.Second}},
		"pending asks for no wait": {
			with(hinted(calm(enrich.Pending), 0), func(s *situation) { s.reply.Next = poll }),
			reaction{move: follow, reason: "pending", wait: 250 * time.Millisecond}},
		"pending beyond the leg": {
			with(hinted(calm(enrich.Pending), 35*time.Second), func(s *situation) { s.reply.Next = poll }),
			reaction{move: park, reason: "pending", wait: 35 * time.Second}},
		"pending beyond the budget": {
			with(hinted(calm(enrich.Pending), 41*time.Second), func(s *situation) { s.reply.Next = poll }),
			reaction{move: leave, reason: "timeout", wait: 41 * time.Second}},
		"pending beyond the job's life": {
			with(calm(enrich.Pending), func(s *situation) {
				s.reply.Next = &providers.Step{Poll: true, Deadline: someday.Add(time.Second)}
			}),
			reaction{move: leave, reason: "timeout", wait: 3 * time.Second}},
		"pending with a further step": {
			with(calm(enrich.Pending), func(s *situation) { s.reply.Next = &providers.Step{Operation: "second"} }),
			reaction{move: follow, reason: "pending"}},
		"pending without a step": {calm(enrich.Pending), reaction{move: leave, reason: "malformed"}},

		"rate limited, short hint": {
			hinted(calm(enrich.RateLimited), 800*time.Millisecond),
			reaction{move: again, reason: "rate_limited", wait: 800 * time.Millisecond,
				pause: enrich.PausedByHint, until: someday.Add(800 * time.Millisecond)}},
		"rate limited, hint shorter than backoff": {
			hinted(calm(enrich.RateLimited), 0),
			reaction{move: again, reason: "rate_limited", wait: 250 * time.Millisecond,
				pause: enrich.PausedByHint, until: someday}},
		"rate limited, long hint": {
			hinted(calm(enrich.RateLimited), 3*time.Second),
			reaction{move: yield, reason: "rate_limited", wait: 3 * time.Second,
				pause: enrich.PausedByHint, until: someday.Add(3 * time.Second)}},
		"rate limited, long hint, nobody else": {
			with(hinted(calm(enrich.RateLimited), 3*time.Second), func(s *situation) { s.patience = time.Hour }),
			reaction{move: again, reason: "rate_limited", wait: 3 * time.Second,
				pause: enrich.PausedByHint, until: someday.Add(3 * time.Second)}},
		"rate limited, hint beyond the budget": {
			with(hinted(calm(enrich.RateLimited), time.Minute), func(s *situation) { s.patience = time.Hour }),
			reaction{move: leave, reason: "rate_limited", wait: time.Minute,
				pause: enrich.PausedByHint, until: someday.Add(time.Minute)}},
		"rate limited without hint": {
			calm(enrich.RateLimited),
			reaction{move: yield, reason: "rate_limited", wait: 5 * time.Second,
				pause: enrich.PausedByDefault, until: someday.Add(5 * time.Second)}},
		"rate limited, an exhausted limit named": {
			with(calm(enrich.RateLimited), func(s *situation) {
				s.reply.Limits = []enrich.LimitState{
					{Name: "minute", Remaining: 0, ResetAt: someday.Add(20 * time.Second)},
					{Name: "day", Remaining: 12, ResetAt: someday.Add(9 * time.Hour)},
				}
			}),
			reaction{move: yield, reason: "rate_limited", wait: 20 * time.Second,
				pause: enrich.PausedByHint, until: someday.Add(20 * time.Second)}},
		"rate limited too often": {
			with(hinted(calm(enrich.RateLimited), 0), func(s *situation) { s.failures = 3 }),
			reaction{move: leave, reason: "rate_limited", wait: 250 * time.Millisecond,
				pause: enrich.PausedByHint, until: someday}},
		"rate limited needs no retry ratio": {
			with(hinted(calm(enrich.RateLimited), 0), func(s *situation) { s.retry = false }),
			reaction{move: again, reason: "rate_limited", wait: 250 * time.Millisecond,
				pause: enrich.PausedByHint, until: someday}},

		"blocked": {calm(enrich.Blocked),
			reaction{move: leave, reason: "blocked", pause: enrich.PausedByBlock, until: someday.Add(time.Minute)}},
		"blocked until": {
			with(calm(enrich.Blocked), func(s *situation) { s.reply.PauseUntil = someday.Add(time.Hour) }),
			reaction{move: leave, reason: "blocked", pause: enrich.PausedByBlock, until: someday.Add(time.Hour)}},
		"quota exhausted": {calm(enrich.QuotaExhausted),
			reaction{move: leave, reason: "quota_exhausted", pause: enrich.PausedByQuota}},
		"quota exhausted, reset known": {
			hinted(calm(enrich.QuotaExhausted), time.Hour),
			reaction{move: leave, reason: "quota_exhausted", pause: enrich.PausedByQuota, until: someday.Add(time.Hour)}},
		"auth failed": {calm(enrich.AuthFailed),
			reaction{move: leave, reason: "auth_failed", pause: enrich.PausedByAuth}},
		"forbidden":     {calm(enrich.Forbidden), reaction{move: leave, reason: "forbidden", forbid: true}},
		"invalid input": {calm(enrich.InvalidInput), reaction{move: leave, reason: "invalid_input", remember: true}},

		"temporary": {calm(enrich.Temporary), reaction{move: again, reason: "temporary", wait: 250 * time.Millisecond}},
		"temporary, longer hint": {
			hinted(calm(enrich.Temporary), 900*time.Millisecond),
			reaction{move: again, reason: "temporary", wait: 900 * time.Millisecond}},
		"temporary, hint beyond patience": {
			hinted(calm(enrich.Temporary), 9*time.Second),
			reaction{move: yield, reason: "temporary", wait: 9 * time.Second}},
		"temporary, no retry left": {
			with(calm(enrich.Temporary), func(s *situation) { s.retry = false }),
			reaction{move: leave, reason: "temporary", wait: 250 * time.Millisecond}},
		"temporary too often": {
			with(calm(enrich.Temporary), func(s *situation) { s.failures = 3 }),
			reaction{move: leave, reason: "temporary", wait: 250 * time.Millisecond}},
		"temporary at the end": {
			with(calm(enrich.Temporary), func(s *situation) { s.latest, s.last = someday, someday }),
			reaction{move: leave, reason: "temporary", wait: 250 * time.Millisecond}},

		"timeout": {calm(enrich.Timeout), reaction{move: leave, reason: "timeout"}},
		"timeout of a poll": {
			with(calm(enrich.Timeout), func(s *situation) { s.poll = true }),
			reaction{move: again, reason: "timeout", wait: 250 * time.Millisecond}},
		"malformed": {calm(enrich.Malformed), reaction{move: leave, reason: "malformed"}},
		"expired":   {calm(enrich.Expired), reaction{move: anew, reason: "expired", wait: 250 * time.Millisecond}},
		"expired again": {
			with(calm(enrich.Expired), func(s *situation) { s.resubmitted = true }),
			reaction{move: leave, reason: "expired"}},
		"unheard of": {calm("surprise"), reaction{move: leave, reason: "malformed"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := react(c.given); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
	for _, outcome := range enrich.Outcomes {
		if got := react(calm(outcome)); got.move == "" || got.reason == "" {
			t.Errorf("%s: nothing follows: %+v", outcome, got)
		}
	}
}

func TestJitterOnlyAddsAndFits(t *testing.T) {
	for _, random := range []float64{0, 0.5, 0.999999} {
		s := hinted(calm(enrich.RateLimited), 800*time.Millisecond)
		s.random = random
		if got := react(s).wait; got < 800*time.Millisecond || got >= 1050*time.Millisecond {
			t.Errorf("random %v: waits %s for a hint of 800ms and a backoff of 250ms", random, got)
		}
		s.latest = s.now.Add(810 * time.Millisecond)
		if got := react(s).wait; got < 800*time.Millisecond || got > 810*time.Millisecond {
			t.Errorf("random %v: waits %s though the call must begin after 810ms", random, got)
		}
	}
}

func TestBackoffDoublesUpToItsCap(t *testing.T) {
	b := Config{}.WithDefaults().Backoff
	for repeat, want := range map[int]time.Duration{
		0: 250 * time.Millisecond, 1: 250 * time.Millisecond, 2: 500 * time.Millisecond, 3: time.Second,
		5: 4 * time.Second, 6: 5 * time.Second, 7: 5 * time.Second, 1000: 5 * time.Second,
	} {
		if got := b.before(repeat); got != want {
			t.Errorf("before repeat %d: %s, want %s", repeat, got, want)
		}
	}
}
