package router

import (
	"errors"
	"sync"
	"time"
)

// silence tells when a provider has stopped answering, which its breaker learns
// only when calls have taken their whole time. It decides no more than that others
// are asked first meanwhile, so a wrong guess costs little.
type silence struct {
	calls   int           // of which so many must be under way
	timeout time.Duration // of the provider's calls

	mu       sync.Mutex
	underWay int
	since    time.Time     // when it was last heard, or so many calls were first under way after that
	failed   bool          // one of so many calls has since then
	slowest  time.Duration // answer of late; it fades
	told     bool          // since the last answer
}

const (
	// leastSilence is what every provider may take without being called silent.
	leastSilence = time.Second
	// oddly is how many times as long as its slowest answer of late a silent
	// provider has taken.
	oddly = 4
	// untried is into how many parts a call's whole time is cut for the silence of a
	// provider that has not answered yet.
	untried = 5
	// fading is in how many answers the slowest one is forgotten.
	fading = 64
)

// begun notes a call. That one call takes long says nothing of those that join it:
// they have as much time. One that takes the place of a failed one has not.
func (s *silence) begun(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay++
	if s.underWay == s.calls && !s.failed {
		s.since = now
	}
}

// ended notes the end of a call that had begun then. A failure is no sign of life: as
// such it would hide that nothing else comes. A refusal is one, but comes sooner than
// answers do.
func (s *silence) ended(began, now time.Time, v verdict) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(v, failing) {
		s.failed = s.failed || s.underWay >= s.calls
	} else {
		s.told, s.failed, s.since = false, false, now
	}
	if v == healthy {
		s.slowest = max(now.Sub(began), s.slowest-s.slowest/fading)
	}
	s.underWay--
	if s.underWay == 0 {
		s.failed = false
	}
}

// lasts tells until when the provider may be silent at most, after which its calls
// have failed, and whether that is news. It is zero while it answers.
func (s *silence) lasts(now time.Time) (until time.Time, news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bearable := max(leastSilence, oddly*s.slowest)
	if s.slowest == 0 {
		bearable = s.timeout / untried
	}
	if s.underWay < s.calls || now.Sub(s.since) < bearable {
		return time.Time{}, false
	}
	news = !s.told
	s.told = true
	return s.since.Add(s.timeout), news
}
