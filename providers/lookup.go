package providers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/engine"
)

// maxSteps bounds a look-up whose definition leads in a circle. Polls are
// bounded by the age of their job instead.
const maxSteps = 10

// progress is how far a look-up has come.
type progress struct {
	call      string
	step      string
	reference string
	captured  map[string]string
	found     []enrich.Fact // in the order of what is wanted
	absent    []enrich.Attribute
	began     time.Time
	spent     enrich.Micros
	steps     int
	polls     int
	renewed   bool // the access token, for this step
}

// Lookup makes one exchange with the vendor.
func (v *Vendor) Lookup(ctx context.Context, query Query) Reply {
	return v.lookup(ctx, query, time.Now, v.exchange)
}

// lookup is Lookup with the time told by clock and answers by send.
func (v *Vendor) lookup(ctx context.Context, query Query, clock func() time.Time, send send) Reply {
	now := clock()
	call, step, at := v.locate(query, now)
	if step == nil {
		return v.failed("", failure{enrich.InvalidInput, enrich.KnownCharge(0), "the vendor has no call for this"})
	}
	if end, bounded := ctx.Deadline(); !bounded || time.Until(end) > v.timeout {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, v.timeout)
		defer cancel()
	}
	scope := v.scope(query, at, now)
	if v.tokens != nil {
		token, failed := v.token(ctx, scope)
		if failed != nil {
			return v.failed(step.Name, *failed)
		}
		scope.Token = token
	}
	out, err := step.Outgoing(scope, v.base)
	if err != nil {
		return v.failed(step.Name, failure{enrich.InvalidInput, enrich.KnownCharge(0), "the query lacks an input of the request"})
	}
	answer, failed := send(ctx, out)
	if failed != nil {
		return v.failed(step.Name, *failed)
	}
	defer answer.release()
	if v.replayed {
		scope.Reference = "" // the recorded answer has that of another look-up
	}
	scope.Now = clock() // what the answer says of time counts from its arrival
	reading := step.Read(answer.status, answer.header, answer.body, scope, v.pricing)
	if reading.Outcome == enrich.AuthFailed && v.tokens != nil {
		v.tokens.drop(scope.Token)
		if !at.renewed {
			at.renewed = true
			return Reply{Outcome: enrich.Pending, Next: &Step{Operation: step.Operation, progress: at}, Charge: reading.Charge, Limits: reading.Limits}
		}
	}
	return v.reply(query, exchanged{call: call, step: step, at: at, status: answer.status, reading: reading, now: scope.Now})
}

// exchanged is an exchange that got an answer.
type exchanged struct {
	call    *engine.Call
	step    *engine.Step
	at      progress
	status  int
	reading engine.Reading
	now     time.Time
}

// locate finds where the look-up stands. step is nil when the vendor offers no
// call for the query.
func (v *Vendor) locate(query Query, now time.Time) (*engine.Call, *engine.Step, progress) {
	if query.Step != nil {
		at := query.Step.progress
		call := v.definition.Call(at.call)
		if call == nil {
			return nil, nil, progress{}
		}
		return call, call.Step(at.step), at
	}
	operation := query.Operation
	if operation == "" {
		chosen, ok := v.Choose(query.Subject.Kind(), query.Wanted)
		if !ok {
			return nil, nil, progress{}
		}
		operation = chosen.Operation
	}
	call := v.definition.Call(operation)
	if call == nil || call.Kind != query.Subject.Kind() {
		return nil, nil, progress{}
	}
	return call, call.First(), progress{
		call: operation, step: call.First().Name, reference: newReference(), began: now.UTC().Truncate(time.Millisecond),
	}
}

// newReference makes up an id of 16 hexadecimal digits for one look-up.
func newReference() string { return strconv.FormatUint(rand.Uint64()|1<<63, 16) }

func (v *Vendor) scope(query Query, at progress, now time.Time) *engine.Scope {
	scope := &engine.Scope{
		Reference: at.reference, IdempotencyKey: query.IdempotencyKey, Wanted: query.Wanted, Captured: at.captured,
		Secrets: v.config.Credentials, Settings: v.settings, Now: now, Trace: v.trace,
	}
	if query.Subject.Kind() == enrich.Person {
		address := query.Subject.Address()
		scope.Email, scope.MailDomain, scope.Domain = address.Reveal(), address.Domain(), address.Registrable().String()
	} else {
		scope.Domain = query.Subject.Domain().String()
	}
	return scope
}

// reply turns a reading into what the caller acts on.
func (v *Vendor) reply(query Query, done exchanged) Reply {
	reading, at := done.reading, done.at
	reply := Reply{
		Outcome: reading.Outcome, Wait: reading.Wait, Charge: reading.Charge, Limits: reading.Limits, Drift: reading.Drift,
		rule: reading.Rule.Line,
	}
	if reading.Closes != nil {
		reply.PauseUntil = done.now.Add(*reading.Closes)
	}
	at.spent += reading.Charge.Micros
	at.found = merged(query.Wanted, at.found, reading.Found)
	at.absent = append(at.absent[:len(at.absent):len(at.absent)], reading.Absent...)
	if reading.Next != nil {
		if at.steps++; at.steps > maxSteps && reading.Next.Poll == nil {
			return v.failed(done.step.Name, failure{enrich.Malformed, reading.Charge, "the definition leads in a circle"})
		}
		reply.Next = next(done.step, at, reading)
		return reply
	}
	reply.Outcome = at.outcome(query.Wanted, done.call, reading)
	reply.Facts = v.facts(query, at, reply.Outcome)
	switch reply.Outcome {
	case enrich.Hit, enrich.Partial, enrich.Miss:
	default:
		reply.Err = fmt.Errorf("%s: %s: status %d means %s by %s",
			v.name, done.step.Name, done.status, reply.Outcome, reading.Rule.Origin())
	}
	return reply
}

// next is the step that goes on with the look-up.
func next(step *engine.Step, at progress, reading engine.Reading) *Step {
	if reading.Next == step {
		at.polls++
	} else {
		at.polls = 0
	}
	at.step, at.captured, at.renewed = reading.Next.Name, reading.Captured, false
	next := &Step{Operation: reading.Next.Operation, progress: at}
	if poll := reading.Next.Poll; poll != nil {
		next.Poll = true
		next.Delay = poll.Delay(at.polls)
		next.Deadline = at.began.Add(poll.MaxAge)
	}
	return next
}

// merged joins findings in the order of what is wanted; a later one replaces an
// earlier.
func merged(wanted []enrich.Attribute, before, after []enrich.Fact) []enrich.Fact {
	if len(before) == 0 {
		return after
	}
	var joined []enrich.Fact
	for _, attribute := range wanted {
		for _, findings := range [][]enrich.Fact{after, before} {
			if i := slices.IndexFunc(findings, func(f enrich.Fact) bool { return f.Attribute == attribute }); i >= 0 {
				joined = append(joined, findings[i])
				break
			}
		}
	}
	return joined
}

// outcome judges the whole look-up, of which the last answer may have brought
// a part only.
func (p progress) outcome(wanted []enrich.Attribute, call *engine.Call, reading engine.Reading) enrich.Outcome {
	switch last := reading.Outcome; {
	case last != enrich.Hit && last != enrich.Partial && (last != enrich.Miss || len(p.found) == 0):
		return last
	case reading.Rule.Outcome == enrich.Partial:
		return enrich.Partial // whatever was found, the vendor says that more is missing
	}
	found := p.found
	for _, attribute := range wanted {
		if len(found) > 0 && found[0].Attribute == attribute {
			found = found[1:]
		} else if call.CanSupply(attribute) {
			return enrich.Partial
		}
	}
	return enrich.Hit
}

// facts states what the look-up brought, in the order of what was wanted. Its
// price is shared evenly among the values; what remains of the division goes to
// the first. They take the place of what was found, from the end, so that none is
// overwritten before it was read.
func (v *Vendor) facts(query Query, at progress, outcome enrich.Outcome) []enrich.Fact {
	found := at.found
	values := enrich.Micros(len(found))
	facts := slices.Grow(found, len(query.Wanted)-len(found))[:len(query.Wanted)]
	next := len(facts)
	for _, attribute := range slices.Backward(query.Wanted) {
		fact := enrich.Fact{Attribute: attribute}
		switch last := len(found) - 1; {
		case last >= 0 && found[last].Attribute == attribute:
			fact, found = found[last], found[:last]
			fact.Price = at.spent / values
			if last == 0 {
				fact.Price += at.spent % values
			}
		case outcome == enrich.Suppressed && attribute.Kind() == query.Subject.Kind():
			fact.State = enrich.StateSuppressed
		case outcome.Authoritative() && slices.Contains(at.absent, attribute):
			fact.State = enrich.StateAbsent
		default:
			continue
		}
		fact.Source, fact.FetchedAt = v.name, at.began
		next--
		facts[next] = fact
	}
	return facts[next:]
}

// failed is the reply when there was no answer to read.
func (v *Vendor) failed(step string, failed failure) Reply {
	return Reply{
		Outcome: failed.outcome, Charge: failed.charge,
		Err: fmt.Errorf("%s: %s: %s: %s", v.name, step, failed.outcome, failed.reason),
	}
}
