package fakevendor

import (
	"sync"
	"time"
)

// job is a look-up that is answered later.
type job struct {
	id string
	// ready is when it is done, and expires when it can no longer be read, by
	// the vendor's clock. A job that never ends is ready at the zero time.
	ready, expires time.Time
	polled         time.Time
	// subjects are the addresses or domains asked for.
	subjects []string
	// settled is true once the result was read and its charge booked.
	settled bool
	// taken is what was charged in advance.
	taken milli
	// echo is what the vendor gives back with the result.
	echo []any
}

// done tells whether the job has ended by now.
func (j *job) done(now time.Time) bool { return !j.ready.IsZero() && !now.Before(j.ready) }

// jobs are one vendor's, by id. The newest mostJobs are kept.
type jobs struct {
	mu    sync.Mutex
	byID  map[string]*job
	order []string // a ring of ids, oldest at next
	next  int
	made  uint64
}

const mostJobs = 100_000

func newJobs() *jobs { return &jobs{byID: make(map[string]*job)} }

// number returns a number that no other job of the vendor has.
func (s *jobs) number() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	return s.made
}

// put keeps a job, in place of one with the same id.
func (s *jobs) put(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.byID[j.id]; !known {
		if len(s.order) < mostJobs {
			s.order = append(s.order, j.id)
		} else {
			delete(s.byID, s.order[s.next])
			s.order[s.next] = j.id
			s.next = (s.next + 1) % mostJobs
		}
	}
	s.byID[j.id] = j
}

// visit calls look with the job of that id, or nil, while no other call sees
// it.
func (s *jobs) visit(id string, look func(*job)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	look(s.byID[id])
}

// forget drops all jobs.
func (s *jobs) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID, s.order, s.next = make(map[string]*job), nil, 0
}

// working tells whether the vendor is still busy with a look-up that is asked
// again and again until it is answered; the first asking decides whether it is
// answered at once.
func (c *call) working(operation, subject string) bool {
	id := operation + " " + subject
	pending := c.set.Data.Pending
	busy := false
	c.vendor.jobs.visit(id, func(j *job) {
		switch {
		case j != nil:
			busy = !j.done(c.now)
		default:
			busy = pending.Never || float64(c.chance("pending "+operation, subject)>>11)/(1<<53) < pending.Share
		}
	})
	if busy {
		c.begin(id, subject)
	}
	return busy
}

// begin keeps a job of that id for the subjects, unless there is one.
func (c *call) begin(id string, subjects ...string) {
	pending := c.set.Data.Pending
	span := pending.For
	if span == 0 {
		span = c.vendor.dialect.pendingFor
	}
	kept := pending.KeptFor
	if kept == 0 {
		kept = 30 * 24 * time.Hour
	}
	j := &job{id: id, subjects: subjects}
	if !pending.Never {
		half := float64(c.chance("job", id)>>11) / (1 << 53)
		j.ready = c.now.Add(span/2 + time.Duration(half*float64(span)))
	}
	j.expires = c.now.Add(span + kept)
	exists := false
	c.vendor.jobs.visit(id, func(known *job) { exists = known != nil })
	if !exists {
		c.vendor.jobs.put(j)
	}
}
