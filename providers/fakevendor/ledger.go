package fakevendor

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Entry is one call in the ledger.
type Entry struct {
	// Seq counts a vendor's calls from 1.
	Seq    uint64    `json:"seq"`
	Time   time.Time `json:"time"` // of arrival, by the true clock
	Vendor string    `json:"vendor"`
	// Operation as limits and prices name it.
	Operation string `json:"operation"`
	// Key names the API key without giving it away; empty: none was sent.
	Key string `json:"key,omitempty"`
	// Subject names what was asked for, see Server.SubjectID; empty: the call
	// never came so far. Of several, the first.
	Subject string `json:"subject,omitempty"`
	// Request names what was sent, headers aside, as Subject does: equal ones are
	// repeats, whether or not the calls came far enough to have a subject.
	Request string `json:"request"`
	// Entities is how many subjects were asked for.
	Entities int `json:"entities"`
	// IdempotencyKey as it was sent in that header, or in the field that the
	// dialect gives back (Lusha's clientReferenceId, FullEnrich's custom).
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	// Outcome is what the answer means in the vendor's dialect. Partial is a
	// thin record.
	Outcome enrich.Outcome `json:"outcome"`
	// Status of HTTP; 0: the connection was closed without one.
	Status int `json:"status"`
	// Limit is the limit that refused the call.
	Limit string `json:"limit,omitempty"`
	// Credits and ChargedMicros are what was billed; negative: given back.
	Credits       float64 `json:"credits"`
	ChargedMicros int64   `json:"charged_micros"`
	// Duplicate is true when something was billed that had been before.
	Duplicate bool `json:"duplicate,omitempty"`
	// Fault that struck the call.
	Fault FaultKind `json:"fault,omitempty"`
	// Abandoned is true when the client had gone before the answer.
	Abandoned bool `json:"abandoned,omitempty"`
	// Milliseconds from arrival to answer.
	Milliseconds float64 `json:"milliseconds"`
}

// Summary counts all calls since the last reset; nothing is ever dropped.
type Summary struct {
	Calls       int64                    `json:"calls"`
	ByOutcome   map[enrich.Outcome]int64 `json:"by_outcome"`
	ByStatus    map[int]int64            `json:"by_status"`
	ByOperation map[string]int64         `json:"by_operation"`
	ByFault     map[FaultKind]int64      `json:"by_fault"`
	// RefusedBy counts refusals by the limit, or "ban", that refused.
	RefusedBy map[string]int64 `json:"refused_by"`
	// Entities is how many subjects were asked for.
	Entities int64 `json:"entities"`
	// Charged is how many calls were billed, ChargedMicros what for.
	Charged       int64   `json:"charged"`
	Credits       float64 `json:"credits"`
	ChargedMicros int64   `json:"charged_micros"`
	// Duplicates is how many calls billed what had been billed before, and
	// Untracked how many billed a subject too many to remember.
	Duplicates int64 `json:"duplicates"`
	Untracked  int64 `json:"untracked"`
	// TooMany is how many calls were answered 429, whatever it meant, and
	// RateLimited how many were refused by a limit or a ban, whatever the
	// status.
	TooMany     int64 `json:"too_many"`
	RateLimited int64 `json:"rate_limited"`
	// Abandoned is how many clients had gone before their answer.
	Abandoned int64 `json:"abandoned"`
	// MostAtOnce is the most admitted calls that were under way together.
	MostAtOnce int64 `json:"most_at_once"`
	// First and Last are the arrivals of the first and the newest call.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
}

// ledger keeps one vendor's newest entries in a ring and counts all.
type ledger struct {
	mu      sync.Mutex
	bound   int
	ring    []note
	sum     Summary
	credits milli
	next    int
}

// note is an entry before its hashes are written out.
type note struct {
	Entry
	caller    *caller
	key       string // where no caller was found
	subject   uint64
	request   uint64
	milli     milli
	untracked bool
}

func newLedger(bound int) *ledger {
	l := &ledger{bound: bound}
	l.reset()
	return l
}

func (l *ledger) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ring, l.next, l.credits = nil, 0, 0
	l.sum = Summary{
		ByOutcome: map[enrich.Outcome]int64{}, ByStatus: map[int]int64{}, ByOperation: map[string]int64{},
		ByFault: map[FaultKind]int64{}, RefusedBy: map[string]int64{},
	}
}

// add books a call.
func (l *ledger) add(n note, atOnce int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.sum
	s.Calls++
	n.Seq = uint64(s.Calls)
	s.ByOutcome[n.Outcome]++
	s.ByStatus[n.Status]++
	s.ByOperation[n.Operation]++
	if n.Fault != "" {
		s.ByFault[n.Fault]++
	}
	if n.Limit != "" {
		s.RefusedBy[n.Limit]++
	}
	s.Entities += int64(n.Entities)
	if n.milli > 0 {
		s.Charged++
	}
	l.credits += n.milli
	s.ChargedMicros += n.ChargedMicros
	count(&s.Duplicates, n.Duplicate)
	count(&s.Untracked, n.untracked)
	count(&s.TooMany, n.Status == 429)
	count(&s.RateLimited, n.Outcome == enrich.RateLimited || n.Outcome == enrich.Blocked)
	count(&s.Abandoned, n.Abandoned)
	s.MostAtOnce = max(s.MostAtOnce, atOnce)
	if s.First.IsZero() || n.Time.Before(s.First) {
		s.First = n.Time
	}
	if n.Time.After(s.Last) {
		s.Last = n.Time
	}
	if len(l.ring) < l.bound {
		l.ring = append(l.ring, n)
	} else if l.bound > 0 {
		l.ring[l.next] = n
		l.next = (l.next + 1) % l.bound
	}
}

func count(counter *int64, when bool) {
	if when {
		*counter++
	}
}

// summary returns the counters.
func (l *ledger) summary() Summary {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sum
	s.Credits = float64(l.credits) / float64(credit)
	s.ByOutcome, s.ByStatus, s.ByOperation = maps.Clone(s.ByOutcome), maps.Clone(s.ByStatus), maps.Clone(s.ByOperation)
	s.ByFault, s.RefusedBy = maps.Clone(s.ByFault), maps.Clone(s.RefusedBy)
	return s
}

// entries returns up to limit of the kept entries after a sequence number,
// oldest first.
func (l *ledger) entries(after uint64, limit int) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []Entry
	for i := range l.ring {
		n := &l.ring[(l.next+i)%len(l.ring)]
		if n.Seq <= after {
			continue
		}
		if len(found) == limit {
			break
		}
		found = append(found, n.entry())
	}
	return found
}

func (n *note) entry() Entry {
	e := n.Entry
	e.Key = keyID(n.key)
	if n.caller != nil && n.caller.id != "" {
		e.Key = n.caller.id
	}
	if n.subject != 0 {
		e.Subject = subjectText(n.subject)
	}
	e.Request = subjectText(n.request)
	e.Credits = float64(n.milli) / float64(credit)
	return e
}

func subjectText(subject uint64) string { return fmt.Sprintf("%016x", subject) }
