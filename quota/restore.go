package quota

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// lasts tells whether what was spent must be known after a restart to the unit.
// Of shorter windows it is enough to begin with nothing left.
func (r rule) lasts() bool {
	return (r.Shape == enrich.FixedWindow || r.Shape == enrich.Sliding) && r.length() >= time.Minute
}

// store is the state of the limits, and commit is called when it is in the file.
// Unless the process ends now, each may run ahead of the file by about what was
// spent since the last time.
func (l *local) store(now time.Time, clean bool) (stored []storedWindow, commit func()) {
	promises := make([]int64, len(l.limits))
	for i, limit := range l.limits {
		s := limit.window.store(now)
		s.Name, s.Shape, s.Unit = limit.rule.Name, limit.rule.Shape, limit.rule.Unit
		if limit.rule.lasts() && !clean {
			most := max(1, limit.rule.Amount/20)
			s.Ahead = min(max(1, 2*(limit.total-limit.stored)), most)
			s.Ahead = max(s.Ahead, limit.largest)
		}
		promises[i] = limit.total + s.Ahead
		limit.stored = limit.total
		stored = append(stored, s)
	}
	limits := l.limits
	return stored, func() {
		for i, limit := range limits {
			limit.promised = max(limit.promised, promises[i])
		}
	}
}

// restore goes on from a stored state. After a process that did not end
// cleanly, all that it may have spent counts as spent.
func (l *local) restore(now time.Time, stored []storedWindow, clean bool) {
	for _, limit := range l.limits {
		for _, s := range stored {
			if s.Name != limit.rule.Name || s.Shape != limit.rule.Shape || s.Unit != limit.rule.Unit {
				continue
			}
			if !clean && !limit.rule.lasts() {
				limit.exhaust(now)
				continue
			}
			limit.window.restore(now, s)
			if s.Ahead > 0 {
				limit.window.take(now, s.Ahead, demand{urgent: true})
			}
		}
	}
}

// exhaust counts everything as spent.
func (l *local) exhaust(now time.Time) {
	for _, limit := range l.limits {
		limit.exhaust(now)
	}
}

// store is the provider's state for the state file.
func (s *scheduler) store(clean bool) (stored storedProvider, commit func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.pause.active(now) {
		stored.Pause = storedPause{Reason: s.pause.Reason, Until: s.pause.Until}
	}
	alone, ok := s.source.(*local)
	if !ok {
		return stored, func() {}
	}
	limits, promise := alone.store(now, clean)
	stored.Limits = limits
	return stored, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		promise()
		if !s.closed {
			s.dispatch(time.Now())
		}
	}
}

// restore goes on from a stored state. In doubt everything counts as spent.
func (s *scheduler) restore(stored storedProvider, clean, doubt bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if p := (Pause{Reason: stored.Pause.Reason, Until: stored.Pause.Until}); p.active(now) {
		s.shut(now, p)
	}
	if alone, ok := s.source.(*local); ok {
		alone.restore(now, stored.Limits, clean)
		if doubt {
			alone.exhaust(now)
		}
	}
}

// promised tells whether the state file allows for the price, and has it written
// again before it does not.
func (m *money) promised(parts []part, price enrich.Micros) bool {
	if m.journal == nil || price == 0 {
		return true
	}
	ok := true
	for _, part := range parts {
		p := part.purse
		p.largest = max(p.largest, price)
		left := p.promised - p.total - price
		ok = ok && left >= 0
		if left <= (p.promised-p.stored)/2 {
			m.journal.want()
		}
	}
	return ok
}

// store is what was spent of the caps, and commit is called when it is in the
// file.
func (m *money) store(clean bool) (stored []storedPurse, commit func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	promises := map[*purse]enrich.Micros{}
	for key, p := range m.purses {
		p.roll(now, m.bank == nil)
		s := storedPurse{ID: key.id, Account: key.account, Start: p.start, Spent: p.spent}
		if !clean {
			s.Ahead = max(min(2*(p.total-p.stored), p.rule.amount/20), p.largest)
		}
		promises[p], p.stored = p.total+s.Ahead, p.total
		if s.Spent+s.Ahead > 0 {
			stored = append(stored, s)
		}
	}
	return stored, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for p, promise := range promises {
			p.promised = max(p.promised, promise)
		}
	}
}

// restore goes on from what was stored. In doubt everything counts as spent.
func (m *money) restore(stored []storedPurse, doubt bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if doubt {
		m.doubt = now
	}
	for _, s := range stored {
		for _, c := range m.caps {
			if c.id != s.ID {
				continue
			}
			if p := m.purse(now, c, s.Account, true); p.start.Equal(s.Start) {
				p.spent += s.Spent + s.Ahead
			}
		}
	}
}

// openJournal reads the state file, if there is to be one.
func (k *Keeper) openJournal() (document, error) {
	k.parked = map[string]storedProvider{}
	if k.config.StateFile == "" || k.redis != nil {
		return document{}, nil
	}
	j, before, err := openJournal(k.config.StateFile, k.log)
	if errors.Is(err, errDamaged) {
		k.log.Error("quota: the state file says not what was spent; everything counts as spent until its window ends. Remove the file and restart to begin anew",
			"file", k.config.StateFile, "error", err)
		k.doubt, err = true, nil
	}
	if err != nil {
		return document{}, fmt.Errorf("quota: state_file: %w", err)
	}
	j.collect = k.collect
	k.journal, k.unclean = j, !before.Clean
	maps.Copy(k.parked, before.Providers)
	return before, nil
}

// collect is what the state file is to hold.
func (k *Keeper) collect(clean bool) (document, func()) {
	d := document{Clean: clean, Providers: map[string]storedProvider{}}
	var commits []func()
	k.changing.Lock()
	maps.Copy(d.Providers, k.parked)
	k.changing.Unlock()
	for provider, s := range *k.schedulers.Load() {
		stored, commit := s.store(clean)
		d.Providers[provider] = stored
		commits = append(commits, commit)
	}
	purses, commit := k.money.store(clean)
	d.Purses, d.Stops = purses, k.board.stored()
	return d, func() {
		commit()
		for _, commit := range commits {
			commit()
		}
	}
}
