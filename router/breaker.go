package router

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/enrichd/enrichd/enrich"
)

// BreakerConfig is when a failing provider is left alone. Only temporary,
// timeout and malformed answers count as failures, one for every call, repeats
// included, when it has ended, however long its caller waited. Refusals and
// invalid input count as nothing. The zero BreakerConfig has the defaults.
type BreakerConfig struct {
	// Failures in a row open the breaker: so many while fewer than Least calls in
	// Window were judged or when none has succeeded for as long as a call may take, and
	// three times as many else, lest a busy provider that fails now and then is
	// taken for a dead one. Fewer notice an outage sooner and take a hiccup for
	// one. Default 5.
	Failures int `yaml:"failures"`
	// Ratio of failed calls in Window opens it too, from 0 to 1. Default 0.5.
	Ratio float64 `yaml:"ratio"`
	// Least calls in Window before Ratio is looked at. Default 20.
	Least int `yaml:"least"`
	// Window rolls; it is at least ten times the provider's timeout, because
	// results of calls begun before the window are lost. Default: that.
	Window time.Duration `yaml:"window"`
	// OpenFor is how long no call passes before a probe does, stretched by up
	// to a fifth so that replicas do not probe at the same moment. Default 15s.
	OpenFor time.Duration `yaml:"open_for"`
	// Probes are admitted after that, and all must succeed to close the breaker;
	// one failure opens it again. Default 1.
	Probes int `yaml:"probes"`
}

func (c BreakerConfig) withDefaults() BreakerConfig {
	c.Failures = cmp.Or(c.Failures, 5)
	c.Ratio = cmp.Or(c.Ratio, 0.5)
	c.Least = cmp.Or(c.Least, 20)
	c.OpenFor = cmp.Or(c.OpenFor, 15*time.Second)
	c.Probes = cmp.Or(c.Probes, 1)
	return c
}

func (c BreakerConfig) validate() (problems []error) {
	report := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	report(c.Failures < 0, "failures: %d is negative", c.Failures)
	report(c.Ratio < 0 || c.Ratio > 1, "ratio: %v is not between 0 and 1", c.Ratio)
	report(c.Least < 0, "least: %d is negative", c.Least)
	report(c.Window < 0, "window: %s is negative", c.Window)
	report(c.OpenFor < 0, "open_for: %s is negative", c.OpenFor)
	report(c.Probes < 0, "probes: %d is negative", c.Probes)
	return problems
}

// BreakerState is whether calls pass a breaker.
type BreakerState string

// The states of a breaker.
const (
	BreakerClosed   BreakerState = "closed"    // all pass
	BreakerOpen     BreakerState = "open"      // none passes
	BreakerHalfOpen BreakerState = "half_open" // probes pass
)

var breakerStates = map[gobreaker.State]BreakerState{
	gobreaker.StateClosed:   BreakerClosed,
	gobreaker.StateOpen:     BreakerOpen,
	gobreaker.StateHalfOpen: BreakerHalfOpen,
}

// windowOfTimeouts and windowBuckets shape the rolling window.
const (
	windowOfTimeouts = 10
	windowBuckets    = 10
)

// breaker guards one provider. Every call that it admits must report a verdict
// once; calls have timeouts, so a probe cannot keep it half-open for ever.
type breaker struct {
	settings breakerSettings
	inner    *gobreaker.TwoStepCircuitBreaker[struct{}]
	probes   int
	openFor  time.Duration
	changed  func(change)

	// silence is noticed before calls have failed.
	silence silence

	// hinted makes the next failure open the breaker; see peerOpened.
	hinted atomic.Bool

	mu        sync.Mutex // guards the rest; taken inside the library's lock
	streak    streak
	succeeded time.Time // the newest success
	cause     error     // of the newest failure
	openUntil time.Time
	held      time.Time // until when a half-open breaker keeps its probe back
	news      []change  // not yet told to changed, which must not run under that lock
}

// change is a breaker's new state, until when if it is open, and whether it
// opened because a peer's did.
type change struct {
	state  BreakerState
	until  time.Time
	hinted bool
	cause  error // of the failure that opened it; nil where there was none
}

// breakerSettings are what a breaker is made with.
type breakerSettings struct {
	BreakerConfig
	timeout time.Duration // of the provider's calls
}

// newBreaker makes a closed breaker, which tells its changes, and whether a peer
// made it change. stretch, in [0, 1), sets this replica's probes apart from
// others'.
func newBreaker(c breakerSettings, stretch float64, changed func(change)) *breaker {
	window := max(c.Window, windowOfTimeouts*c.timeout)
	b := &breaker{
		settings: c,
		silence:  silence{calls: c.Failures, timeout: c.timeout},
		probes:   c.Probes,
		openFor:  c.OpenFor + time.Duration(stretch*float64(c.OpenFor)/5),
		changed:  changed,
	}
	b.inner = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests:  uint32(c.Probes),
		Interval:     window,
		BucketPeriod: window / windowBuckets,
		Timeout:      b.openFor,
		IsExcluded:   func(err error) bool { return errors.Is(err, neutral) },
		IsSuccessful: b.count,
		ReadyToTrip: func(counts gobreaker.Counts) bool {
			judged := counts.TotalSuccesses + counts.TotalFailures
			few := judged < uint32(c.Least)
			return b.hinted.Load() || b.isRow(few) || !few && float64(counts.TotalFailures) >= c.Ratio*float64(judged)
		},
		OnStateChange: b.note,
	})
	return b
}

// verdict is what a call's outcome says about the vendor's health, in the form
// that the library takes.
type verdict error

var (
	healthy verdict
	failing = verdict(errors.New("failing"))
	neutral = verdict(errors.New("neutral"))
)

// verdictOn judges an outcome. Suppressed is a sound answer; a pending job is
// one too.
func verdictOn(outcome enrich.Outcome) verdict {
	switch {
	case outcome.Failure():
		return failing
	case outcome.Authoritative(), outcome == enrich.Pending:
		return healthy
	default:
		return neutral
	}
}

// allow admits a call, whose verdict must be reported once, or returns false.
func (b *breaker) allow() (report func(verdict), ok bool) {
	if _, kept := b.keptBack(); kept && b.inner.State() == gobreaker.StateHalfOpen {
		return nil, false
	}
	done, err := b.inner.Allow()
	b.tell()
	if err != nil {
		return nil, false
	}
	began := time.Now()
	b.silence.begun(began)
	return func(v verdict) {
		b.silence.ended(began, time.Now(), v)
		if errors.Is(v, failing) {
			b.failed(began)
		}
		done(v)
		b.tell()
	}, true
}

// succeed goes on from a breaker with other settings: a new breaker opens if that
// one let no call pass but probes, and counts on from its failures in a row.
func (b *breaker) succeed(before *breaker) {
	if state, _ := before.current(); state != BreakerClosed {
		b.open()
		return
	}
	before.mu.Lock()
	row := before.streak
	before.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.streak = row
}

// peerOpened opens the breaker because another replica's has opened until then,
// so that each need not find out for itself. One that is to probe waits with that,
// and probes apart from the other.
func (b *breaker) peerOpened(until time.Time) {
	if state, _ := b.current(); state != BreakerHalfOpen {
		b.open()
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = until.Add(b.openFor - b.settings.OpenFor)
}

// open opens a closed breaker.
func (b *breaker) open() {
	b.hinted.Store(true)
	defer b.hinted.Store(false)
	if report, ok := b.allow(); ok {
		report(failing)
	}
}

// ready tells whether a call would be admitted now, and if not when one may be:
// zero when that depends on probes under way.
func (b *breaker) ready() (at time.Time, ok bool) {
	state, until := b.current()
	switch state {
	case BreakerOpen:
		return until, false
	case BreakerHalfOpen:
		if until, kept := b.keptBack(); kept {
			return until, false
		}
		counts := b.inner.Counts()
		return time.Time{}, int(counts.Requests-counts.TotalExclusions) < b.probes
	default:
		return time.Time{}, true
	}
}

// keptBack tells whether a half-open breaker waits for a peer's pause, and until
// when.
func (b *breaker) keptBack() (until time.Time, kept bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held, time.Now().Before(b.held)
}

// current returns the state, and until when an open breaker stays so.
func (b *breaker) current() (BreakerState, time.Time) {
	state := breakerStates[b.inner.State()]
	b.tell()
	if state != BreakerOpen {
		return state, time.Time{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return state, b.openUntil
}

// streak is failures in a row. The library's own count of them decays as its
// buckets roll, so that a slow outage would never be noticed.
type streak struct {
	failures int
	since    time.Time // when the first of them began, or the last success after that
}

// busyFailures is how many times as many failures in a row open the breaker of a
// busy provider.
const busyFailures = 3

// isRow tells whether so many failures in a row mean an outage; few that not many
// calls were judged lately.
func (b *breaker) isRow(few bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	row := b.streak.failures
	lasted := row > 0 && time.Since(b.streak.since) >= b.settings.timeout
	return row >= busyFailures*b.settings.Failures || row >= b.settings.Failures && (few || lasted)
}

func (b *breaker) count(err error) (success bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.streak, b.succeeded = streak{}, time.Now()
		return true
	}
	b.streak.failures++
	return false
}

// blame notes why the call failed on which failing is reported next.
func (b *breaker) blame(cause error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cause = cause
}

// failed notes a failure that is reported next of a call that had begun then.
func (b *breaker) failed(began time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.streak.failures > 0 && !b.streak.since.IsZero() { // a success may have come in between
		return
	}
	b.streak.since = began
	if b.succeeded.After(began) {
		b.streak.since = b.succeeded
	}
}

func (b *breaker) note(_ string, _, to gobreaker.State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.streak = streak{}
	c := change{state: breakerStates[to]}
	if to == gobreaker.StateOpen {
		b.openUntil = time.Now().Add(b.openFor)
		c.until, c.hinted = b.openUntil, b.hinted.Load()
		if !c.hinted {
			c.cause = b.cause
		}
	}
	b.news = append(b.news, c)
}

// tell passes on the changes since it was last called.
func (b *breaker) tell() {
	b.mu.Lock()
	news := b.news
	b.news = nil
	b.mu.Unlock()
	for _, c := range news {
		b.changed(c)
	}
}
