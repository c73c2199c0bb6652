package fakevendor

import (
	"sync"
	"time"
)

// job is a look-up that is answered later.
type job struct {
	// ready is when it is done, by the vendor's clock; zero: never.
	ready time.Time
	// expires is when it can no longer be read.
	expires time.Time
	// polled is when it was last asked for.
	polled time.Time
	// subjects are the addresses or domains asked for, and items the client's
	// own words for them where the vendor gives those back.
	subjects []string
	items    []map[string]any
	// read is true once the result was given out.
	read bool
}

// jobState is what a poll finds.
type jobState int

const (
	noJob      jobState = iota // unknown, or past its time
	jobTooSoon                 // polled sooner than the vendor allows
	jobRunning
	jobDone
)

// jobs are one vendor's, by id. The newest mostJobs are kept.
type jobs struct {
	mu    sync.Mutex
	byID  map[string]*job
	order []string // a ring of ids, the oldest at next once it is full
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

// put keeps a job, in place of an earlier one of that id.
func (s *jobs) put(id string, j job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.byID[id]; known {
		s.byID[id] = &j
		return
	}
	if len(s.order) < mostJobs {
		s.order = append(s.order, id)
	} else {
		delete(s.byID, s.order[s.next])
		s.order[s.next] = id
		s.next = (s.next + 1) % mostJobs
	}
	s.byID[id] = &j
}

// poll returns the state of a job and a copy of it, zero for an unknown one.
// Its read is false for one poll alone that finds it done.
func (s *jobs) poll(id string, now time.Time, soonest time.Duration) (jobState, job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.byID[id]
	if j == nil {
		return noJob, job{}
	}
	seen := *j
	if !now.Before(j.expires) {
		return noJob, seen
	}
	if !j.polled.IsZero() && now.Sub(j.polled) < soonest {
		return jobTooSoon, seen
	}
	j.polled = now
	if j.ready.IsZero() || now.Before(j.ready) {
		return jobRunning, seen
	}
	j.read = true
	return jobDone, seen
}

// forget drops all jobs.
func (s *jobs) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID, s.order, s.next = make(map[string]*job), nil, 0
}

// begin keeps a job of that id that is done after the vendor's usual time.
func (c *call) begin(id string, j job) {
	pending := c.set.Data.Pending
	span, kept := pending.For, pending.KeptFor
	if span == 0 {
		span = c.vendor.dialect.pendingFor
	}
	if kept == 0 {
		kept = 30 * 24 * time.Hour
	}
	if !pending.Never {
		j.ready = c.now.Add(span/2 + time.Duration(c.share("job", id)*float64(span)))
	}
	j.expires = c.now.Add(2*span + kept)
	c.vendor.jobs.put(id, j)
}

// poll returns the state of a job and the job.
func (c *call) poll(id string) (jobState, job) {
	return c.vendor.jobs.poll(id, c.now, c.set.Data.Pending.MinPoll)
}

// later tells whether a look-up that the vendor may answer at once is to be
// answered later.
func (c *call) later(operation, subject string) bool {
	pending := c.set.Data.Pending
	return pending.Never || c.share("pending "+operation, subject) < pending.Share
}

// working tells whether the vendor is still busy with a look-up that is
// repeated until it is answered. The first time decides whether it is answered
// at once.
func (c *call) working(operation, subject string) bool {
	id := operation + " " + subject
	state, _ := c.vendor.jobs.poll(id, c.now, 0)
	if state != noJob || !c.later(operation, subject) {
		return state == jobRunning
	}
	c.begin(id, job{})
	return true
}
