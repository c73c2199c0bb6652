package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
)

// reserve of an attempt's time is kept for writing down what came of it.
const reserve = 5 * time.Second

// mostCrashes is how often a lead may be in work when the process ends before it
// is taken for the reason. Its neighbours, which are not, were in work too: far
// more than its tries are needed to tell them apart.
const mostCrashes = 20

// work does the job of one lead.
func (e *Engine) work(ctx context.Context, task Task) error {
	if err := e.crowd.hold(task.Lane); err != nil {
		return err
	}
	if _, busy := e.busy.LoadOrStore(task.Target, true); busy {
		return Later(shortestWait) // another job of the same lead
	}
	defer e.busy.Delete(task.Target)
	lead, err := e.claim(ctx, task.Lane, task.Target)
	if errors.Is(err, ledger.ErrTaken) {
		return e.afterTheOther(ctx, task)
	} else if err != nil {
		return err
	}
	began := time.Now()
	account, known := e.Account(lead.Account)
	switch {
	case !known:
		return e.giveUp(ctx, lead, failed(enrich.Denied, "the account is not configured any more"), string(enrich.Denied), nil)
	case lead.Attempts > mostCrashes && lead.Crashed:
		return e.giveUp(ctx, lead, failed(enrich.Internal, "the process ended every time it was worked"), ledger.DeadCrashed, nil)
	case !began.Before(lead.Deadline):
		return e.giveUp(ctx, lead, failed(enrich.OutOfTime, "its deadline passed"), ledger.DeadBudget, nil)
	case e.crowd.isPaused(ledger.ScopeAccount, lead.Account):
		return e.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			return e.Store.SetAside(ctx, tx, lead, "account_paused")
		})
	}
	if err := e.objects(lead); err != nil {
		return e.objected(ctx, lead, err)
	}
	answer, err := e.ask(ctx, account, lead, began)
	if err != nil {
		return e.afterFailure(ctx, lead, enrich.AsError(err), answer.Attempts)
	}
	e.crowd.went(lead.Lane)
	if stopped, err := e.stoppedMeanwhile(ctx, lead, answer); err != nil {
		return err
	} else if stopped {
		return e.putBack(ctx, lead, paidFor(lead, answer), verdict{move: wait, reason: enrich.ReasonStopped, after: closedWait + jitter(closedWait)})
	}
	if after, again := judgePart(answer, lead, e.config, time.Now()); again {
		return e.putBack(ctx, lead, paidFor(lead, answer), verdict{move: retry, reason: reasonIncomplete, after: after})
	}
	return e.finish(ctx, lead, answer)
}

// stoppedMeanwhile tells whether an answer has gaps because the lead's work was
// stopped after it had begun. It goes on for the rest with the others.
func (e *Engine) stoppedMeanwhile(ctx context.Context, lead ledger.Lead, answer enrich.Answer) (bool, error) {
	for _, gap := range answer.Gaps {
		if gap.Kind != enrich.GapFailed || gap.Reason != enrich.ReasonStopped {
			continue
		}
		if err := e.obeySwitches(ctx); err != nil { // not looked at since, maybe
			return false, err
		}
		return e.crowd.isPaused(ledger.ScopeLane, string(lead.Lane)) || e.crowd.isPaused(ledger.ScopeAccount, lead.Account), nil
	}
	return false, nil
}

// claim takes the lead, also from ourselves: where the end of an attempt could not
// be written down, this process has the lead and nobody in it works it.
func (e *Engine) claim(ctx context.Context, lane enrich.Lane, id string) (ledger.Lead, error) {
	ttl := e.config.AttemptTimeout + rescueAfter
	lead, err := e.Store.Claim(ctx, id, lane, ttl)
	if !errors.Is(err, ledger.ErrTaken) {
		return lead, err
	}
	known, lookErr := e.Store.Lead(ctx, id)
	if lookErr != nil || known.State != ledger.StateProcessing || known.Owner != e.Store.Node() {
		return lead, err
	}
	err = e.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error { return e.Store.Reset(ctx, tx, id) })
	if err != nil {
		return lead, err
	}
	return e.Store.Claim(ctx, id, lane, ttl)
}

// afterTheOther is for a job whose lead does not wait: it ended, or another
// worker has it, whose time may yet run out.
func (e *Engine) afterTheOther(ctx context.Context, task Task) error {
	lead, err := e.Store.Lead(ctx, task.Target)
	if errors.Is(err, ledger.ErrUnknown) {
		return nil
	} else if err != nil {
		return err
	}
	if lead.State == ledger.StateProcessing {
		return Later(max(time.Until(lead.StartedAt.Add(e.config.AttemptTimeout+rescueAfter)), shortestWait))
	}
	return nil
}

// objects asks whether the subject objected since it was accepted.
func (e *Engine) objects(lead ledger.Lead) error {
	if !strings.Contains(lead.Address, "@") {
		domain, err := e.Normalizer.NormalizeDomain(lead.Address)
		if err != nil {
			return invalid("domain", err)
		}
		return e.suppressed(domain.Key())
	}
	address, err := e.Normalizer.Normalize(lead.Address)
	if err != nil {
		return invalid("email", err)
	}
	return e.suppressed(address.Key())
}

// objected ends a lead whose subject objected, or whose address the normalizer
// reads no more.
func (e *Engine) objected(ctx context.Context, lead ledger.Lead, err error) error {
	failure := enrich.AsError(err)
	if failure.Reason != enrich.ReasonSuppressed {
		return e.afterFailure(ctx, lead, failure, nil)
	}
	return e.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		ended, err := e.Store.End(ctx, tx, ledger.Ending{Lead: lead, State: ledger.StateCancelled, Reason: enrich.ReasonSuppressed})
		if err != nil || ended[0].Lost {
			return err
		}
		event := ledger.Event{Subject: lead.Subject, At: time.Now(), Kind: ledger.EventCancelled, Account: lead.Account, Lead: lead.ID,
			Detail: ledger.Detail{"reason": enrich.ReasonSuppressed}}
		return e.Store.Note(ctx, tx, event)
	})
}

// ask has the lead enriched. All that the account may see and attributes with a
// price of their own are two requests; the second finds the first one's facts.
func (e *Engine) ask(ctx context.Context, account enrich.Account, lead ledger.Lead, began time.Time) (answer enrich.Answer, err error) {
	requests := [][]enrich.Attribute{lead.Want.Attributes}
	if lead.Want.All && len(lead.Want.Attributes) > 0 {
		requests = [][]enrich.Attribute{nil, lead.Want.Attributes}
	}
	for i, wanted := range requests {
		request := e.request(account, lead, began)
		request.Wanted = wanted
		more, err := e.Enricher.Enrich(ctx, request)
		if err != nil {
			answer.Attempts = append(answer.Attempts, more.Attempts...)
			return answer, err
		}
		if i == 0 {
			answer = more
		} else {
			answer = joined(answer, more)
		}
	}
	return answer, nil
}

func (e *Engine) request(account enrich.Account, lead ledger.Lead, began time.Time) enrich.Request {
	budget := min(e.config.AttemptTimeout-reserve, lead.Deadline.Sub(began))
	request := enrich.Request{
		Account: account, Lane: lead.Lane, Budget: max(budget, time.Second), MaxAge: lead.Want.MaxAge, MaxCost: lead.Want.MaxCost,
		IdempotencyKey: lead.Key, Purpose: lead.Want.Purpose, ID: lead.ID,
		Consent: enrich.Consent{Basis: lead.Want.Consent.Basis, Source: lead.Want.Consent.Source, CollectedAt: lead.Want.Consent.CollectedAt},
	}
	if request.MaxCost != nil && lead.Attempts > 1 {
		left := max(*request.MaxCost-lead.Cost, 0)
		request.MaxCost = &left
	}
	if lead.Want.Refresh && lead.Attempts == 1 { // a later try uses what the first one paid for
		request.Cache = enrich.CacheRefresh
	}
	if strings.Contains(lead.Address, "@") {
		request.Email = lead.Address
	} else {
		request.Domain = lead.Address
	}
	return request
}

// joined is the answer to both requests.
func joined(a, b enrich.Answer) enrich.Answer {
	for _, provenance := range b.Found {
		a.Found = a.Found.With(provenance)
		delete(a.Gaps, provenance.Fact.Attribute)
	}
	for attribute, gap := range b.Gaps {
		if a.Found.Of(attribute).Fact.State != enrich.StateValue {
			a.Gaps[attribute] = gap
		}
	}
	a.Attempts = append(a.Attempts, b.Attempts...)
	a.Cost += b.Cost
	switch {
	case len(a.Found) == 0:
		a.Completeness = enrich.NotFound
	case len(a.Gaps) == 0:
		a.Completeness = enrich.Complete
	default:
		a.Completeness = enrich.PartlyFound
	}
	return a
}

// afterFailure does what the verdict on a failed attempt says.
func (e *Engine) afterFailure(ctx context.Context, lead ledger.Lead, failure *enrich.Error, attempts []enrich.Attempt) error {
	v := judge(failure, e.tried(attempts), lead, e.config, time.Now())
	if v.move == bury {
		return e.giveUp(ctx, lead, failure, v.reason, attempts)
	}
	if v.move == wait {
		if until, full := e.crowd.waits(lead.Lane, e.config.Workers[lead.Lane], v.readyAt); full {
			// What cannot be written only costs more waits.
			_ = e.Store.TurnOff(ctx, ledger.Switch{Scope: ledger.ScopeLane, Name: string(lead.Lane), Until: until, Reason: v.reason})
		}
	}
	if lead.Crashed { // what the crash cut short is still to be charged
		v.reason = ledger.DeadCrashed
	}
	return e.putBack(ctx, lead, charges(lead, attempts), v)
}

// tried tells whether a vendor was asked that failed for this lead. One that is
// left alone by everybody has not: its next call is the same for any lead.
func (e *Engine) tried(attempts []enrich.Attempt) bool {
	return slices.ContainsFunc(attempts, func(attempt enrich.Attempt) bool {
		return !attempt.Outcome.Authoritative() && (e.Failing == nil || !e.Failing(attempt.Provider))
	})
}

// reasonIncomplete is the reason of a lead that waits because providers of some
// of its attributes failed.
const reasonIncomplete = "incomplete"

// putBack makes a lead wait as long as the verdict says, and writes down what the
// attempt cost.
func (e *Engine) putBack(ctx context.Context, lead ledger.Lead, paid []ledger.Charge, v verdict) error {
	kind := ledger.EventFailed
	if v.move == wait {
		kind = ledger.EventWaited
	}
	err := e.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := e.Store.PutBack(ctx, tx, lead, ledger.Ending{Reason: v.reason, Cost: cost(paid)}, v.move == retry); err != nil {
			return err
		}
		if err := e.Store.Charge(ctx, tx, paid...); err != nil {
			return err
		}
		return e.Store.Note(ctx, tx, ledger.Event{Subject: lead.Subject, At: time.Now(), Kind: kind, Account: lead.Account, Lead: lead.ID,
			Detail: ledger.Detail{"reason": v.reason, "after_ms": v.after.Milliseconds(), "attempt": lead.Attempts}})
	})
	if err != nil {
		return lost(err)
	}
	return Later(v.after)
}

// giveUp makes a lead a dead letter.
func (e *Engine) giveUp(ctx context.Context, lead ledger.Lead, failure *enrich.Error, reason string, attempts []enrich.Attempt) error {
	letter := ledger.DeadLetter{Kind: ledger.DeadLead, Target: lead.ID, Lead: lead.ID, Account: lead.Account, Subject: lead.Subject,
		Lane: lead.Lane, Reason: reason, Message: failure.Error(), Attempts: lead.Attempts}
	for _, attempt := range attempts {
		letter.Provider = attempt.Provider
		letter.Tries = append(letter.Tries, try(attempt))
	}
	return e.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		ended, err := e.Store.End(ctx, tx, ledger.Ending{Lead: lead, State: ledger.StateError, Reason: reason})
		if err != nil || ended[0].Lost {
			return err
		}
		if err := e.Store.Charge(ctx, tx, charges(lead, attempts)...); err != nil {
			return err
		}
		if err := e.Store.Bury(ctx, tx, letter); err != nil {
			return err
		}
		return e.Store.Note(ctx, tx, ledger.Event{Subject: lead.Subject, At: time.Now(), Kind: ledger.EventFailed, Account: lead.Account,
			Lead: lead.ID, Detail: ledger.Detail{"reason": reason, "attempt": lead.Attempts}})
	})
}

// lost makes nothing of a lead that another worker took over: its job is done.
func lost(err error) error {
	if errors.Is(err, ledger.ErrLost) {
		return nil
	}
	return err
}

func failed(kind enrich.ErrorKind, message string) *enrich.Error {
	return &enrich.Error{Kind: kind, Message: message}
}

// charges of a lead's attempts, each under a key of its own.
func charges(lead ledger.Lead, attempts []enrich.Attempt) (all []ledger.Charge) {
	for i, attempt := range attempts {
		if attempt.Shared { // somebody else's call
			continue
		}
		all = append(all, ledger.Charge{Key: fmt.Sprintf("%s:%s:%d.%d", lead.ID, attempt.Provider, lead.Fence, i), Account: lead.Account,
			Lead: lead.ID, Provider: attempt.Provider, Charged: attempt.Charged, At: time.Now()})
	}
	return all
}

func try(attempt enrich.Attempt) ledger.Try {
	t := ledger.Try{Provider: attempt.Provider, Outcome: string(attempt.Outcome), Waited: attempt.Waited, Took: attempt.Took}
	if attempt.Charged.Known {
		t.Charged = &attempt.Charged.Micros
	}
	return t
}
