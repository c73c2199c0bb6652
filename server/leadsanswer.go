package server

import (
	"encoding/json"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/enrichd/enrichd/deadletter"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

var states = map[ledger.State]enrichv1.LeadState{
	ledger.StateNone:       enrichv1.LeadState_LEAD_STATE_NONE,
	ledger.StateProcessing: enrichv1.LeadState_LEAD_STATE_PROCESSING,
	ledger.StateDone:       enrichv1.LeadState_LEAD_STATE_DONE,
	ledger.StatePartial:    enrichv1.LeadState_LEAD_STATE_PARTIAL,
	ledger.StateNotFound:   enrichv1.LeadState_LEAD_STATE_NOT_FOUND,
	ledger.StateError:      enrichv1.LeadState_LEAD_STATE_ERROR,
	ledger.StateCancelled:  enrichv1.LeadState_LEAD_STATE_CANCELLED,
}

// statesIn and lanesOut are the inverse of what is read and written.
var (
	statesIn = inverse(states)
	lanesOut = map[enrich.Lane]enrichv1.Lane{
		enrich.Interactive: enrichv1.Lane_LANE_INTERACTIVE,
		enrich.Standard:    enrichv1.Lane_LANE_STANDARD,
		enrich.Bulk:        enrichv1.Lane_LANE_BULK,
	}
)

func inverse[K, V comparable](of map[K]V) map[V]K {
	into := make(map[V]K, len(of))
	for key, value := range of {
		into[value] = key
	}
	return into
}

// timeOf is a time, unset when it is zero.
func timeOf(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func writeReceipt(receipt ledger.Receipt) *enrichv1.Accepted {
	return &enrichv1.Accepted{Id: receipt.ID, New: receipt.New, Widened: receipt.Widened, State: states[receipt.State]}
}

// writeLead is a lead without its answer and timeline.
func writeLead(lead ledger.Lead) *enrichv1.Lead {
	return &enrichv1.Lead{
		Id: lead.ID, Account: lead.Account, IdempotencyKey: lead.Key, Subject: lead.Subject, State: states[lead.State], Reason: lead.Reason,
		Lane: lanesOut[lead.Lane], Origin: lead.Origin, Attempts: int32(lead.Attempts), AcceptTime: timeOf(lead.AcceptedAt), Deadline: timeOf(lead.Deadline),
		StartTime: timeOf(lead.StartedAt), FinishTime: timeOf(lead.FinishedAt), CostMicros: int64(lead.Cost), Owner: lead.Owner,
	}
}

func writeEvent(event ledger.Event) *enrichv1.LeadEvent {
	written := &enrichv1.LeadEvent{Time: timeOf(event.At), Kind: string(event.Kind), Detail: &structpb.Struct{}}
	if text, err := json.Marshal(event.Detail); err == nil {
		_ = written.Detail.UnmarshalJSON(text) // an object
	}
	return written
}

// storedReport is a report as the ledger has it; its values have the form of
// their attribute.
type storedReport struct {
	Outcome string `json:"outcome"`
	Subject struct {
		Email  string `json:"email"`
		Domain string `json:"domain"`
	} `json:"subject"`
	Facts map[enrich.Attribute]struct {
		Value      json.RawMessage `json:"value"`
		Source     string          `json:"source"`
		FetchedAt  time.Time       `json:"fetched_at"`
		Confidence float64         `json:"confidence"`
	} `json:"facts"`
	Gaps       map[enrich.Attribute]string `json:"gaps"`
	CostMicros int64                       `json:"cost_micros"`
}

// readReport makes a stored report the answer that it was; nil when there is
// none.
func readReport(text []byte) (*enrichv1.EnrichResponse, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var report storedReport
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, err
	}
	answer := &enrichv1.EnrichResponse{
		Email: report.Subject.Email, Domain: report.Subject.Domain, CostMicros: report.CostMicros,
		Person: &enrichv1.Person{}, Company: &enrichv1.Company{}, Provenance: map[string]*enrichv1.Provenance{}, Gaps: map[string]*enrichv1.Gap{},
	}
	for completeness, outcome := range outcomes {
		if completeness.String() == report.Outcome {
			answer.Outcome = outcome
		}
	}
	for attribute, fact := range report.Facts {
		spec, known := enrich.SpecOf(attribute)
		if !known { // of another version
			continue
		}
		value, err := readValue(spec.Form, fact.Value)
		if err != nil {
			return nil, err
		}
		writeFact(answer, &enrich.Fact{Attribute: attribute, Value: value})
		answer.Provenance[string(attribute)] = &enrichv1.Provenance{Provider: fact.Source, FetchedAt: timeOf(fact.FetchedAt), Confidence: fact.Confidence}
	}
	for attribute, reason := range report.Gaps {
		answer.Gaps[string(attribute)] = &enrichv1.Gap{Reason: reason}
	}
	if proto.Size(answer.Person) == 0 {
		answer.Person = nil
	}
	if proto.Size(answer.Company) == 0 {
		answer.Company = nil
	}
	return answer, nil
}

func readValue(form enrich.Form, text json.RawMessage) (value enrich.Value, err error) {
	switch form {
	case enrich.Number:
		var number int64
		err = json.Unmarshal(text, &number)
		value = enrich.NumberValue(number)
	case enrich.List:
		var list []string
		err = json.Unmarshal(text, &list)
		value = enrich.ListValue(list)
	default:
		var word string
		err = json.Unmarshal(text, &word)
		if value = enrich.TextValue(word); form == enrich.Word {
			value = enrich.WordValue(word)
		}
	}
	return value, err
}

// writeLetter is a dead letter with what its reason means.
func writeLetter(letter ledger.DeadLetter) *enrichv1.DeadLetter {
	class := deadletter.Reasons[letter.Reason]
	written := &enrichv1.DeadLetter{
		Id: letter.ID, Kind: string(letter.Kind), Target: letter.Target, Lead: letter.Lead, Account: letter.Account, Lane: lanesOut[letter.Lane],
		Reason: letter.Reason, Meaning: class.Meaning, Remedy: class.Remedy, Replays: class.Replays, Provider: letter.Provider, Message: letter.Message,
		Attempts: int32(letter.Attempts), FirstSeen: timeOf(letter.FirstSeen), LastSeen: timeOf(letter.LastSeen), ResolveTime: timeOf(letter.ResolvedAt),
		Resolution: letter.Resolution, Note: letter.Note,
	}
	for _, try := range letter.Tries {
		attempt := &enrichv1.Attempt{Provider: try.Provider, Outcome: try.Outcome, Waited: durationpb.New(try.Waited), Took: durationpb.New(try.Took)}
		if try.Charged != nil {
			attempt.ChargedMicros = proto.Int64(int64(*try.Charged))
		}
		written.Tries = append(written.Tries, attempt)
	}
	return written
}

func writeDeadCounts(counts []ledger.DeadCount) (written []*enrichv1.DeadLetterCount) {
	for _, count := range counts {
		written = append(written, &enrichv1.DeadLetterCount{Kind: string(count.Kind), Reason: count.Reason, Provider: count.Provider, Letters: count.Letters, Oldest: timeOf(count.Oldest)})
	}
	return written
}

func writeDifference(difference deadletter.Difference) *enrichv1.Difference {
	side := func(side deadletter.Side) *enrichv1.DifferenceSide {
		written := &enrichv1.DifferenceSide{Provider: side.Source, Gap: side.Gap}
		if len(side.Value) > 0 {
			written.Value = &structpb.Value{}
			_ = written.Value.UnmarshalJSON(side.Value) // a value of a report
		}
		return written
	}
	return &enrichv1.Difference{Attribute: string(difference.Attribute), Same: difference.Same, Stored: side(difference.Old), Control: side(difference.New)}
}
