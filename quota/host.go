package quota

import (
	"strconv"
	"strings"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// maxReported is how many waiting accounts a replica tells the others of.
const maxReported = 64

var _ host = (*scheduler)(nil)

// callers tells the shared source who waits.
func (s *scheduler) callers() callers {
	who := callers{waiting: s.waiting, interactive: s.interact}
	for _, l := range s.lanes {
		for _, a := range l.accounts {
			if a.flows > 0 && len(who.accounts) < maxReported {
				who.accounts = append(who.accounts, a)
			}
		}
	}
	return who
}

// learn takes over what the shared account says, and goes on.
func (s *scheduler) learn(now time.Time, n news) {
	if n.guard > 0 && n.guard != s.guard.now {
		s.guard.now = n.guard
		s.source.setGuard(now, n.guard)
	}
	switch {
	case n.pause.active(now):
		// Clocks differ a little; what is new is told once.
		if !s.pause.active(now) || n.pause.Reason != s.pause.Reason || n.pause.Until.Sub(s.pause.Until).Abs() > time.Second {
			s.shut(now, n.pause)
		}
	case n.sure && s.pause.active(now):
		s.open()
	}
	s.dispatch(now)
}

// hear takes a message of another replica: provider, end of the pause, guard,
// reason.
func (k *Keeper) hear(message string) {
	words := strings.Fields(message)
	if len(words) < 3 {
		return
	}
	s := (*k.schedulers.Load())[words[0]]
	till, err := strconv.ParseInt(words[1], 10, 64)
	guard, err2 := strconv.ParseInt(words[2], 10, 64)
	if s == nil || err != nil || err2 != nil {
		return
	}
	reason := enrich.PauseReason(strings.Join(words[3:], " "))
	s.mu.Lock()
	defer s.mu.Unlock()
	if remote, ok := s.source.(*shared); ok && !s.closed {
		s.learn(time.Now(), remote.heard(till, reason, time.Duration(guard)*time.Microsecond))
	}
}
