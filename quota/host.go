package quota

import "time"

// maxReported is how many waiting accounts a replica tells the others of.
const maxReported = 64

var _ host = (*scheduler)(nil)

// callers tells the shared source who waits.
func (s *scheduler) callers() callers {
	who := callers{waiting: s.waiting, running: s.running, interactive: s.visited}
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
