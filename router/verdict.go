package router

import (
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
)

// learn takes in what the provider stated; the reply's facts are the walk's from
// then on.
func (r *ride) learn(reply providers.Reply) {
	var found, stated set
	if r.facts == nil {
		r.facts = reply.Facts[:0]
	}
	for i := range reply.Facts {
		fact := &reply.Facts[i]
		bit, ok := bitOf(fact.Attribute)
		if !ok || fact.Attribute.Kind() != r.call.kind {
			continue
		}
		r.facts = append(r.facts, *fact)
		stated = stated.with(bit)
		if fact.State == enrich.StateValue {
			found = found.with(bit)
			if fact.Confidence >= r.minConfidence {
				r.missing = r.missing.without(bit)
			}
		}
	}
	if silent := r.job.wanted &^ stated; silent != 0 {
		r.silent |= silent
		r.silence = reply.Outcome
	}
	r.open &^= r.job.wanted
	r.call.learned.answer(r.job.wanted, found, r.job.price, r.job.charge())
}

// found closes the walk: what was found, and for what is still missing though
// somebody may know it, why.
func (w *walk) found(drops []drop) enrich.Found {
	record, sorted := enrich.SortedRecord(w.facts)
	if !sorted {
		record = enrich.NewRecord(w.facts...)
	}
	found := enrich.Found{Record: record, Attempts: w.attempts, UnderWay: w.underWay()}
	if w.missing == 0 {
		return found
	}
	found.Failed = map[enrich.Attribute]string{}
	var worst blame
	for bit := range w.missing.all {
		b, failed := w.blame(bit, drops)
		if !failed {
			continue
		}
		found.Failed[attributes[w.ask.Subject.Kind()][bit]] = b.reason
		if worst.reason == "" || b.rank() < worst.rank() {
			worst = b
		}
	}
	found.Err = worst.error(w.ask.Subject.Kind(), drops)
	return found
}

// error is what the caller can do; nil for a reason that is no error.
func (b blame) error(subject enrich.SubjectKind, drops []drop) *enrich.Error {
	kind, ok := b.kind()
	if !ok {
		return nil
	}
	err := &enrich.Error{Kind: kind, Message: messages[kind], Offset: -1}
	switch kind {
	case enrich.Invalid:
		err.Field, err.Reason = fields[subject], b.reason
	case enrich.Throttled, enrich.Unavailable:
		err.ReadyAt = earliest(drops)
	case enrich.Rejected:
		if b.closed() {
			err.Reason = b.reason
		}
	}
	return err
}

// blame says why one attribute is missing: of several reasons the one that lets
// the caller do most about it.
func (w *walk) blame(bit int, drops []drop) (worst blame, failed bool) {
	add := func(b blame) {
		if !failed || b.rank() < worst.rank() {
			worst, failed = b, true
		}
	}
	if w.stopped != "" {
		return blame{reason: w.stopped}, true
	}
	for _, d := range drops {
		if d.missing.has(bit) {
			add(blame{d.reason, d.readyAt, d.pause})
		}
	}
	known := false
	for i := range w.progress {
		switch p := &w.progress[i]; {
		case p.denied.has(bit):
			add(blame{reason: enrich.ReasonNotAllowed})
		case p.doubtful.has(bit):
			add(blame{reason: enrich.ReasonLowConfidence})
		case p.call.supplies.has(bit):
			known = true
		}
	}
	if w.silent.has(bit) {
		add(blame{reason: string(w.silence)})
	}
	if !failed && !known {
		return blame{reason: enrich.ReasonNoSource}, true
	}
	return worst, failed
}

// blame is a reason for something missing, and when asking again can help.
type blame struct {
	reason  string
	readyAt time.Time
	pause   enrich.PauseReason
}

// kinds says what a caller can do about each reason. Reasons without an entry
// are no errors.
var kinds = map[string]enrich.ErrorKind{
	enrich.ReasonPaused:           enrich.Throttled,
	enrich.ReasonNoToken:          enrich.Throttled,
	string(enrich.RateLimited):    enrich.Throttled,
	string(enrich.Blocked):        enrich.Throttled,
	string(enrich.QuotaExhausted): enrich.Throttled,
	enrich.ReasonOutOfTime:        enrich.OutOfTime,
	enrich.ReasonInFlight:         enrich.OutOfTime,
	enrich.ReasonBreakerOpen:      enrich.Unavailable,
	string(enrich.Temporary):      enrich.Unavailable,
	string(enrich.Timeout):        enrich.Unavailable,
	string(enrich.Malformed):      enrich.Unavailable,
	string(enrich.Expired):        enrich.Unavailable,
	enrich.ReasonMoneyCap:         enrich.OutOfMoney,
	enrich.ReasonStopped:          enrich.Rejected,
	string(enrich.AuthFailed):     enrich.Rejected,
	string(enrich.Forbidden):      enrich.Rejected,
	string(enrich.InvalidInput):   enrich.Invalid,
}

// ranks orders the kinds by how much the caller can do: waiting helps before
// more time, that before more money, and another input only when nobody takes
// this one.
var ranks = map[enrich.ErrorKind]int{
	enrich.Throttled:   1,
	enrich.OutOfTime:   2,
	enrich.Unavailable: 3,
	enrich.OutOfMoney:  4,
	enrich.Rejected:    5,
	enrich.Invalid:     6,
}

const unranked = 7

func (b blame) kind() (enrich.ErrorKind, bool) {
	kind, ok := kinds[b.reason]
	if kind == enrich.Throttled && b.readyAt.IsZero() && b.untilOperator() {
		return enrich.Rejected, true
	}
	return kind, ok
}

// untilOperator tells whether the pause ends only when somebody acts.
func (b blame) untilOperator() bool {
	switch b.pause {
	case enrich.PausedByAuth, enrich.PausedByQuota, enrich.PausedByScope, enrich.PausedByOperator:
		return true
	default:
		return false
	}
}

// closed tells whether a person has closed the provider, and may open it.
func (b blame) closed() bool {
	return b.reason == enrich.ReasonStopped || b.reason == enrich.ReasonPaused && b.pause == enrich.PausedByOperator
}

func (b blame) rank() int {
	if kind, ok := b.kind(); ok {
		return ranks[kind]
	}
	return unranked
}

var messages = map[enrich.ErrorKind]string{
	enrich.Throttled:   "no provider that may know is ready within the time budget; ask again when one is",
	enrich.OutOfTime:   "the time budget ended before a provider that may know could answer; ask again with more time",
	enrich.Unavailable: "the providers that may know are failing; ask again later",
	enrich.OutOfMoney:  "asking a provider that may know would cost more than allowed; ask again with more money",
	enrich.Rejected:    "no provider that may know can be asked until the operator acts",
	enrich.Invalid:     "no provider can look this subject up",
}

var fields = [...]string{enrich.Person: "email", enrich.Company: "domain"}

// earliest is when the first of the dropped providers is ready again; zero when
// nobody knows.
func earliest(drops []drop) (at time.Time) {
	for _, d := range drops {
		kind, _ := blame{d.reason, d.readyAt, d.pause}.kind()
		usable := kind == enrich.Throttled || kind == enrich.Unavailable
		if usable && !d.readyAt.IsZero() && (at.IsZero() || d.readyAt.Before(at)) {
			at = d.readyAt
		}
	}
	return at
}
