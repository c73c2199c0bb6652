// Package privacy keeps what people are owed: the list of subjects that must not
// be looked up, the log of who asked about whom, and erasure with a proof.
//
// The list is in the memory of every replica, which answers for it, and in a file,
// in Redis, or both, which keep it:
//
//	Add ──► memory ──► file     fsync
//	           ▲  └──► Redis    a stream of changes
//	           └────── every 250 ms what other replicas added
//
// All copies hold changes, of which the newest of a subject counts, so copies
// that went apart join by exchanging them. Nothing here holds an address: a
// subject is a tag, an HMAC under the configured pepper.
package privacy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

// Suppressions is the list of subjects that must not be looked up. It is safe
// for concurrent use.
type Suppressions struct {
	tags *Tagger
	most int
	log  *slog.Logger
	stop context.CancelFunc
	runs sync.WaitGroup

	// keeping orders the writers of the copies; it is taken before mu.
	keeping sync.Mutex
	file    *listFile  // nil: none
	redis   *listRedis // nil: none
	health  map[string]*health

	mu     sync.RWMutex
	loaded bool
	stamps map[Tag]stamp
	listed int // how many of stamps are suppressed
	// edition counts what was put on the list.
	edition uint64
	// owed are the tags whose last change a copy has yet to be told.
	owed map[string]map[Tag]struct{}
}

var _ enrich.Suppressions = (*Suppressions)(nil)

// The copies, as logs and Kept name them.
const (
	copyFile  = "file"
	copyRedis = "redis"
)

// errUnknown is the answer while the list could not be loaded, and errFull that
// to a subject for which the list has no room.
var (
	errUnknown = &enrich.Error{
		Kind: enrich.Unavailable, Reason: "suppressions_unknown", Offset: -1,
		Message: "it is not known who must not be looked up, so nobody is",
	}
	errFull = &enrich.Error{
		Kind: enrich.Rejected, Reason: "suppressions_full", Offset: -1,
		Message: "the suppression list is full: raise privacy.suppression.max_entries",
	}
	errNotKept = &enrich.Error{
		Kind: enrich.Unavailable, Reason: "suppressions_not_kept", Offset: -1,
		Message: "the change of the suppression list holds here but could be kept nowhere yet",
	}
)

// startWithin bounds how long the start waits for a Redis to load the list from.
const startWithin = 2 * time.Second

// NewSuppressions loads the list. A file that cannot be read or was written under
// another pepper is an error. A Redis that is away is not: with a file the list
// begins with that, without one Suppressed returns errors until Redis is back.
// Close ends it.
func NewSuppressions(config Config, log *slog.Logger) (*Suppressions, error) {
	if err := errors.Join(config.Validate()...); err != nil {
		return nil, fmt.Errorf("privacy: %w", err)
	}
	config = config.WithDefaults()
	s := &Suppressions{
		tags:   NewTagger(config.Pepper),
		most:   config.Suppression.MaxEntries,
		log:    log,
		stop:   func() {},
		health: map[string]*health{},
		stamps: map[Tag]stamp{},
		owed:   map[string]map[Tag]struct{}{},
	}
	if err := s.openFile(config.Suppression.File); err != nil {
		return nil, fmt.Errorf("privacy: suppression list: %w", err)
	}
	if config.Redis.Enabled() {
		remote, err := newListRedis(config.Redis, s.tags)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("privacy: %w", err), s.Close())
		}
		s.redis = remote
		s.addCopy(copyRedis)
		s.startPolling()
	}
	if s.file == nil && s.redis == nil {
		s.loaded = true
	}
	return s, nil
}

func (s *Suppressions) openFile(path string) error {
	if path == "" {
		return nil
	}
	var full error
	file, err := openListFile(path, s.tags, func(c change) { full = errors.Join(full, s.merge(c, "")) })
	if err != nil {
		return err
	}
	s.file = file
	if full != nil {
		return errors.Join(errFull, s.Close())
	}
	s.addCopy(copyFile)
	s.loaded = true
	return nil
}

func (s *Suppressions) addCopy(name string) {
	s.health[name] = &health{log: s.log, name: name}
	owed := map[Tag]struct{}{}
	for tag := range s.stamps {
		if name != copyFile { // the others may lack what the file has
			owed[tag] = struct{}{}
		}
	}
	s.owed[name] = owed
}

// merge joins a change that a copy had into the list. What is known here already
// is not owed to that copy any more, and what is new is owed to the others.
func (s *Suppressions) merge(c change, from string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, heard := s.stamps[c.tag]
	if known == c.stamp {
		delete(s.owed[from], c.tag)
	}
	if !c.stamp.beats(known) {
		return nil
	}
	if !heard && len(s.stamps) >= s.most {
		return errFull
	}
	s.set(c)
	delete(s.owed[from], c.tag)
	for name, owed := range s.owed {
		if name != from {
			owed[c.tag] = struct{}{}
		}
	}
	return nil
}

// set notes a change under the lock.
func (s *Suppressions) set(c change) {
	switch was, is := s.stamps[c.tag].suppressed(), c.stamp.suppressed(); {
	case was && !is:
		s.listed--
	case is && !was:
		s.listed++
		s.edition++
	}
	s.stamps[c.tag] = c.stamp
}

// Suppressed tells whether a subject must not be looked up. The error says that
// the list has not been loaded.
func (s *Suppressions) Suppressed(key email.Key) (bool, error) {
	s.mu.RLock()
	loaded, empty := s.loaded, s.listed == 0
	s.mu.RUnlock()
	if !loaded {
		return true, errUnknown
	}
	if empty || key.IsZero() {
		return false, nil
	}
	exact, folded := s.tags.forms(key)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.stamps[exact].suppressed() || s.stamps[folded].suppressed(), nil
}

// Edition changes when a subject is added. The error says that the list has not
// been loaded.
func (s *Suppressions) Edition() (uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !s.loaded {
		return 0, errUnknown
	}
	return s.edition, nil
}

// Len is how many tags are on the list. An address with aliases has two.
func (s *Suppressions) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.listed
}

// Owed is how many changes a copy has yet to be told, by its name.
func (s *Suppressions) Owed() map[string]int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	counts := map[string]int{}
	for name, owed := range s.owed {
		counts[name] = len(owed)
	}
	return counts
}

// Close ends the list. What a copy is owed is written once more.
func (s *Suppressions) Close() error {
	s.stop()
	s.runs.Wait()
	s.keeping.Lock()
	defer s.keeping.Unlock()
	s.settle(context.Background())
	var problems []error
	if s.file != nil {
		problems = append(problems, s.file.close())
		s.file = nil
	}
	if s.redis != nil {
		problems = append(problems, s.redis.client.Close())
		s.redis = nil
	}
	return errors.Join(problems...)
}
