package privacy

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/enrichd/enrichd/email"
)

// Kept says where a change of the list is by now. It holds in this process; what
// could not be told is told as soon as that is possible.
type Kept struct {
	// InFile and InRedis: the copy has it; false where there is no such copy.
	InFile, InRedis bool
	// Pending: a configured copy could not be told yet. Other replicas may not
	// know the change, or a restart may forget it.
	Pending bool
	// Changed: the list was not as wanted before.
	Changed bool
}

// Add puts a subject on the list. The error says that there is no room, or
// that no copy could keep it yet; in the latter case it holds here.
func (s *Suppressions) Add(ctx context.Context, key email.Key) (Kept, error) {
	return s.change(ctx, key, true)
}

// Remove takes a subject off the list. Its errors are those of Add, and that the
// list has not been loaded.
func (s *Suppressions) Remove(ctx context.Context, key email.Key) (Kept, error) {
	if _, err := s.Suppressed(key); err != nil {
		return Kept{}, err
	}
	return s.change(ctx, key, false)
}

func (s *Suppressions) change(ctx context.Context, key email.Key, suppressed bool) (Kept, error) {
	if key.IsZero() {
		return Kept{}, nil
	}
	exact, folded := s.tags.forms(key)
	s.keeping.Lock()
	defer s.keeping.Unlock()
	if s.redis != nil {
		_ = s.read(ctx) // this change counts rather than those before it, whatever the clocks say
	}
	changed, err := s.note([]Tag{exact, folded}, suppressed)
	if err != nil {
		return Kept{}, err
	}
	s.settle(ctx)
	kept := s.keptBy(exact, folded)
	kept.Changed = changed
	if kept.Pending && !kept.InFile && !kept.InRedis {
		return kept, errNotKept
	}
	return kept, nil
}

// note changes the tags, and tells whether any was not yet as it should be. What is
// suppressed already is so anew: a removal elsewhere may not be known here yet.
func (s *Suppressions) note(tags []Tag, suppressed bool) (changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if suppressed && len(s.stamps)+len(tags) > s.most {
		unknown := map[Tag]bool{}
		for _, tag := range tags {
			if _, heard := s.stamps[tag]; !heard {
				unknown[tag] = true
			}
		}
		if len(s.stamps)+len(unknown) > s.most {
			return false, errFull
		}
	}
	for _, tag := range tags {
		known := s.stamps[tag]
		if !suppressed && !known.suppressed() {
			continue
		}
		changed = changed || known.suppressed() != suppressed
		// Later than what it replaces, whatever the clock says.
		next := stamp(max(time.Now().UnixMicro(), known.at()+1))
		if !suppressed {
			next = -next
		}
		s.set(change{tag, next})
		for _, owed := range s.owed {
			owed[tag] = struct{}{}
		}
	}
	return changed, nil
}

func (s *Suppressions) keptBy(tags ...Tag) (kept Kept) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for name, owed := range s.owed {
		has := true
		for _, tag := range tags {
			_, missing := owed[tag]
			has = has && !missing
		}
		kept.InFile = kept.InFile || has && name == copyFile
		kept.InRedis = kept.InRedis || has && name == copyRedis
		kept.Pending = kept.Pending || !has
	}
	return kept
}

// settle tells the copies what they are owed. It is called under keeping.
func (s *Suppressions) settle(ctx context.Context) {
	if s.file != nil {
		s.pay(copyFile, s.file.add)
	}
	if s.redis != nil {
		s.pay(copyRedis, func(changes []change) error { return s.redis.add(ctx, changes) })
	}
}

// pay writes what a copy is owed, a page at a time.
func (s *Suppressions) pay(name string, write func([]change) error) {
	for {
		page := s.owedTo(name)
		if len(page) == 0 {
			return
		}
		err := write(page)
		if errors.Is(err, context.Canceled) {
			return // the caller has left; that says nothing of the copy
		}
		if s.health[name].note(err); err != nil {
			return
		}
		s.mu.Lock()
		for _, c := range page {
			if s.stamps[c.tag] == c.stamp {
				delete(s.owed[name], c.tag)
			}
		}
		s.mu.Unlock()
	}
}

func (s *Suppressions) owedTo(name string) (page []change) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for tag := range s.owed[name] {
		if len(page) == pageSize {
			break
		}
		page = append(page, change{tag, s.stamps[tag]})
	}
	return page
}

// startPolling follows Redis until Close, and waits for the first look at it.
func (s *Suppressions) startPolling() {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	looked := make(chan struct{})
	s.runs.Go(func() {
		tick := time.NewTicker(pollEvery)
		defer tick.Stop()
		s.poll(ctx)
		close(looked)
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				s.poll(ctx)
			}
		}
	})
	select {
	case <-looked:
	case <-time.After(startWithin):
	}
}

// poll reads what is new in Redis and tells the copies what they are owed.
func (s *Suppressions) poll(ctx context.Context) {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	if err := s.read(ctx); err != nil {
		if ctx.Err() == nil {
			s.health[copyRedis].note(err)
		}
		return
	}
	s.settle(ctx)
	if len(s.owedTo(copyRedis)) == 0 {
		s.health[copyRedis].note(nil)
	}
}

// read joins everything new in Redis. The first time that it comes to the end the
// list is loaded; until then nothing may be unreadable, because that could be
// somebody who must not be looked up.
func (s *Suppressions) read(ctx context.Context) error {
	for {
		found, err := s.redis.next(ctx)
		if err != nil {
			return err
		}
		s.mu.Lock()
		loaded := s.loaded
		if found.lost {
			s.log.Error("privacy: the suppression list in Redis has lost changes, giving them back", "known", len(s.stamps))
			for tag := range s.stamps {
				s.owed[copyRedis][tag] = struct{}{}
			}
		}
		s.mu.Unlock()
		switch {
		case found.lost:
			continue
		case found.unreadable != nil && !loaded:
			s.redis.rewind()
			return found.unreadable
		case found.unreadable != nil:
			s.log.Error("privacy: a change of the suppression list is passed over", "error", found.unreadable)
		case len(found.changes) == 0:
			s.mu.Lock()
			s.loaded = true
			s.mu.Unlock()
			return nil
		}
		for _, c := range found.changes {
			if err := s.merge(c, copyRedis); err != nil {
				s.redis.rewind()
				return err
			}
		}
	}
}

// health logs when a copy fails and when it is well again, and once a minute
// while it fails.
type health struct {
	log    *slog.Logger
	name   string
	failed time.Time // when it was last logged; zero: it is well
}

func (h *health) note(err error) {
	switch {
	case err == nil && !h.failed.IsZero():
		h.failed = time.Time{}
		h.log.Info("privacy: the copy of the suppression list is reachable again", "copy", h.name)
	case err != nil && time.Since(h.failed) >= time.Minute:
		h.failed = time.Now()
		h.log.Error("privacy: a copy of the suppression list cannot be reached, going on with what is known here", "copy", h.name, "error", err)
	}
}
