package jobs

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
)

// Report is what came of a lead, as it is stored and delivered.
type Report struct {
	Lead    string      `json:"lead"`
	Account string      `json:"account"`
	Outcome string      `json:"outcome"` // complete, partial, not_found
	Subject ReportOf    `json:"subject"`
	Facts   ReportFacts `json:"facts"`
	// Gaps say for each attribute without a value why.
	Gaps       map[enrich.Attribute]string `json:"gaps,omitempty"`
	CostMicros enrich.Micros               `json:"cost_micros"`
	FinishedAt time.Time                   `json:"finished_at"`
	// Contact is what came with the lead.
	Contact json.RawMessage `json:"contact,omitempty"`
}

// ReportOf names the subject.
type ReportOf struct {
	RecordKey string `json:"record_key"`
	Email     string `json:"email,omitempty"`
	Domain    string `json:"domain,omitempty"`
}

// ReportFacts are the facts by attribute.
type ReportFacts map[enrich.Attribute]ReportFact

// ReportFact is one fact.
type ReportFact struct {
	Value      enrich.Value `json:"value"`
	Source     string       `json:"source"`
	FetchedAt  time.Time    `json:"fetched_at"`
	Confidence float64      `json:"confidence"`
}

// MakeReport tells what an answer found about a lead.
func MakeReport(lead ledger.Lead, answer enrich.Answer, now time.Time) Report {
	report := Report{Lead: lead.ID, Account: lead.Account, Outcome: answer.Completeness.String(), Facts: ReportFacts{},
		Gaps: map[enrich.Attribute]string{}, CostMicros: answer.Cost, FinishedAt: now.UTC(), Contact: lead.Contact}
	report.Subject = ReportOf{RecordKey: lead.Subject, Domain: answer.Domain.String(), Email: answer.Address.Reveal()}
	for _, provenance := range answer.Found {
		fact := provenance.Fact
		report.Facts[fact.Attribute] = ReportFact{Value: fact.Value, Source: fact.Source, FetchedAt: fact.FetchedAt.UTC(), Confidence: fact.Confidence}
	}
	for attribute, gap := range answer.Gaps {
		report.Gaps[attribute] = gap.Reason
	}
	return report
}

// encode returns the report as JSON, and a digest that is the same for the same
// facts and gaps.
func (r Report) encode() (text []byte, digest [sha256.Size]byte, err error) {
	content := struct {
		Report
		Facts json.RawMessage `json:"facts"`
		Gaps  json.RawMessage `json:"gaps,omitempty"`
	}{Report: r}
	if content.Facts, err = json.Marshal(r.Facts); err != nil {
		return nil, digest, err
	}
	if len(r.Gaps) > 0 {
		if content.Gaps, err = json.Marshal(r.Gaps); err != nil {
			return nil, digest, err
		}
	}
	text, err = json.Marshal(content)
	return text, sha256.Sum256(slices.Concat(content.Facts, content.Gaps)), err
}

// finish writes an answer down, with what it cost and what is to be delivered,
// in one transaction.
func (e *Engine) finish(ctx context.Context, lead ledger.Lead, answer enrich.Answer) error {
	now := time.Now()
	report := MakeReport(lead, answer, now)
	result, digest, err := report.encode()
	if err != nil {
		return fmt.Errorf("jobs: report: %w", err)
	}
	paid := paidFor(lead, answer)
	completions := e.completions
	if lead.Lane == enrich.Bulk {
		completions = e.patientCompletions
	}
	ended, err := completions.Ask(ctx, completion{
		ending:     ledger.Ending{Lead: lead, State: ended[answer.Completeness], Cost: cost(paid), Result: result},
		paid:       paid,
		story:      story(lead, answer, paid, now),
		deliveries: e.messages(lead, result, digest, now),
	})
	if err == nil && ended.Again {
		return Later(0) // somebody asked for more meanwhile: the same job goes on
	}
	return err
}

// completion is all that is written when a lead was worked.
type completion struct {
	ending     ledger.Ending
	paid       []ledger.Charge
	story      []ledger.Event
	deliveries []ledger.Delivery
}

// completing writes the completions of many workers down. Of a lead that another
// worker took over nothing is written: its job is done.
func (e *Engine) completing(write ledger.Writing) func(context.Context, []completion) ([]ledger.Ended, error) {
	return func(ctx context.Context, all []completion) (ended []ledger.Ended, err error) {
		endings := make([]ledger.Ending, len(all))
		for i, one := range all {
			endings[i] = one.ending
		}
		err = write(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			if ended, err = e.Store.End(ctx, tx, endings...); err != nil {
				return err
			}
			var sum completion
			for i, one := range all {
				if !ended[i].Lost {
					sum.paid = append(sum.paid, one.paid...)
					sum.story = append(sum.story, one.story...)
					sum.deliveries = append(sum.deliveries, one.deliveries...)
				}
			}
			if err := e.Store.Charge(ctx, tx, sum.paid...); err != nil {
				return err
			}
			if err := e.Store.Note(ctx, tx, sum.story...); err != nil {
				return err
			}
			return e.post(ctx, tx, sum.deliveries)
		})
		return ended, err
	}
}

var ended = map[enrich.Completeness]ledger.State{
	enrich.Complete: ledger.StateDone, enrich.PartlyFound: ledger.StatePartial, enrich.NotFound: ledger.StateNotFound,
}

// paidFor are the charges of an answer.
func paidFor(lead ledger.Lead, answer enrich.Answer) []ledger.Charge {
	return append(charges(lead, answer.Attempts), recovered(lead, answer)...)
}

// recovered are the charges of an attempt that a crash ended after the vendor
// had answered: the answer was kept, and its facts say what they cost.
func recovered(lead ledger.Lead, answer enrich.Answer) (all []ledger.Charge) {
	if !lead.Crashed {
		return nil
	}
	told := map[string]bool{}
	for _, attempt := range answer.Attempts {
		told[attempt.Provider] = true
	}
	prices := map[string]enrich.Micros{}
	for _, provenance := range answer.Found {
		if fact := provenance.Fact; !told[fact.Source] && !fact.FetchedAt.Before(lead.AcceptedAt) {
			prices[fact.Source] += fact.Price
		}
	}
	for provider, micros := range prices {
		all = append(all, ledger.Charge{Key: lead.ID + ":" + provider + ":recovered", Account: lead.Account, Lead: lead.ID,
			Provider: provider, Charged: enrich.KnownCharge(micros), At: time.Now()})
	}
	return all
}

func cost(paid []ledger.Charge) (sum enrich.Micros) {
	for _, charge := range paid {
		sum += charge.Charged.Micros
	}
	return sum
}

// story is what the timeline tells of an answer.
func story(lead ledger.Lead, answer enrich.Answer, paid []ledger.Charge, now time.Time) (events []ledger.Event) {
	tell := func(kind ledger.EventKind, detail ledger.Detail) {
		events = append(events, ledger.Event{Subject: lead.Subject, At: now, Kind: kind, Account: lead.Account, Lead: lead.ID, Detail: detail})
	}
	if len(answer.Attempts) == 0 {
		tell(ledger.EventCached, ledger.Detail{"found": len(answer.Found)})
	}
	for _, attempt := range answer.Attempts {
		tell(ledger.EventAsked, ledger.Detail{"provider": attempt.Provider, "outcome": string(attempt.Outcome),
			"waited_ms": attempt.Waited.Milliseconds(), "took_ms": attempt.Took.Milliseconds(), "shared": attempt.Shared})
	}
	if micros := cost(paid); micros > 0 {
		tell(ledger.EventCharged, ledger.Detail{"micros": micros})
	}
	tell(ledger.EventFound, ledger.Detail{"outcome": answer.Completeness.String(), "found": len(answer.Found), "gaps": len(answer.Gaps)})
	return events
}

// messages are the report for every sink. Their operation key is the same for the
// same content about a subject on one day.
func (e *Engine) messages(lead ledger.Lead, payload []byte, digest [sha256.Size]byte, now time.Time) (all []ledger.Delivery) {
	for name := range e.sinks {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%x", name, lead.Subject, now.UTC().Format(time.DateOnly), digest))
		all = append(all, ledger.Delivery{ID: ledger.NewID(), Lead: lead.ID, Account: lead.Account, Subject: lead.Subject, Sink: name,
			OperationKey: hex.EncodeToString(sum[:]), Version: now.UnixMicro(), CreatedAt: now, Payload: payload})
	}
	return all
}

// post puts messages into the outbox, and the deliveries of those that are new
// into the queue.
func (e *Engine) post(ctx context.Context, tx *sql.Tx, messages []ledger.Delivery) error {
	fresh, err := e.Store.Post(ctx, tx, messages...)
	if err != nil {
		return err
	}
	jobs := make([]Job, len(fresh))
	for i, delivery := range fresh {
		jobs[i] = Job{Kind: Deliver, Target: delivery.ID, Lane: deliverLane}
	}
	return e.queue.Submit(ctx, tx, jobs...)
}
