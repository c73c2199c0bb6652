package ledger

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// State is where a lead stands.
type State string

// The states of a lead.
const (
	StateNone       State = "none"       // accepted, and waiting for a worker
	StateProcessing State = "processing" // a worker has it
	StateDone       State = "done"       // everything wanted was found
	StatePartial    State = "partial"    // a part of it was
	StateNotFound   State = "not_found"  // the vendors have nothing
	StateError      State = "error"      // given up; a dead letter says why
	StateCancelled  State = "cancelled"  // a person ended it, or the subject objected
)

// Ended tells whether no worker will touch the lead unless a person asks.
func (s State) Ended() bool { return s != StateNone && s != StateProcessing }

// Want is what a lead asks for. It holds no personal data.
type Want struct {
	// All is set when all that the account may see is wanted, and Attributes
	// names single ones, which adds those that have a price of their own.
	All        bool               `json:"all,omitempty"`
	Attributes []enrich.Attribute `json:"attributes,omitempty"`
	Purpose    string             `json:"purpose,omitempty"`
	Consent    Consent            `json:"consent,omitzero"`
	// MaxCost in micros; nil: no cap.
	MaxCost *enrich.Micros `json:"max_cost,omitempty"`
	// MaxAge of facts; 0: as fresh as the attribute asks for.
	MaxAge time.Duration `json:"max_age,omitempty"`
	// Refresh asks vendors even for what is known.
	Refresh bool `json:"refresh,omitempty"`
}

// Consent is an enrich.Consent as it is stored.
type Consent struct {
	Basis       string    `json:"basis,omitempty"`
	Source      string    `json:"source,omitempty"`
	CollectedAt time.Time `json:"collected_at,omitzero"`
}

// Covers tells whether everything that other asks for is asked for already.
func (w Want) Covers(other Want) bool {
	if other.All && !w.All {
		return false
	}
	for _, attribute := range other.Attributes {
		if !slices.Contains(w.Attributes, attribute) {
			return false
		}
	}
	return true
}

// With returns w with what other asks for as well; its other wishes stay.
func (w Want) With(other Want) Want {
	w.All = w.All || other.All
	w.Attributes = append(slices.Clone(w.Attributes), other.Attributes...)
	slices.Sort(w.Attributes)
	w.Attributes = slices.Compact(w.Attributes)
	return w
}

// Submission is a lead to be accepted.
type Submission struct {
	// Key is the idempotency key: the same key of the same account is the same
	// lead.
	Key string
	// Subject and Company are keys made by Store.SubjectKey; Company is empty
	// without a company to look up.
	Subject string
	Company string
	// Address is the e-mail address or the domain to ask about, normalized.
	Address string
	// Contact is what else came with the lead, as JSON; nil: nothing.
	Contact json.RawMessage
	Lane    enrich.Lane
	Want    Want
	// Origin says where it came from: "api", "event", or an import's id.
	Origin string
	// Deadline is when the work is given up.
	Deadline time.Time
	// Weight is the account's share of the bulk lane next to the others'; 0: 1.
	Weight int
}

// Receipt says what became of a submission.
type Receipt struct {
	ID    string
	Key   string
	State State
	// New is true for a lead that was not known, Widened for one that was and
	// now asks for more.
	New     bool
	Widened bool
	// Reused is true when the key is that of a lead about another subject: then
	// nothing was accepted, and there is no ID.
	Reused bool
	// NeedsJob is true when the caller puts the lead into the queue in the same
	// transaction. Leads of the bulk lane are fed to it by Store.Feed.
	NeedsJob bool
	Lane     enrich.Lane
	Revision int64
}

// Lead is a piece of accepted work.
type Lead struct {
	ID      string
	Account string
	Key     string
	Subject string
	Company string
	Lane    enrich.Lane
	Origin  string
	State   State
	Reason  string
	Want    Want
	// Revision rises when there is more or something again to work: the job of
	// one revision is not that of another.
	Revision int64
	// Fence rises with every claim: a worker whose fence is not the lead's has
	// lost it and writes nothing.
	Fence      int64
	Owner      string
	Attempts   int
	StartedAt  time.Time // of the processing under way
	AcceptedAt time.Time
	Deadline   time.Time
	FinishedAt time.Time
	Cost       enrich.Micros
	// Address, Contact and Result are personal data, empty once erased.
	Address string
	Contact json.RawMessage
	Result  json.RawMessage
	// Crashed is set by Claim when the attempt before this one never ended.
	Crashed bool
}

const leadColumns = `id, account, idem_key, subject, company, lane, origin, state, reason, revision, fence, owner,
	attempts, processing_started_at, accepted_at, deadline_at, finished_at, cost_micros, request, email, contact, result`

// scanner is a row.
type scanner interface{ Scan(to ...any) error }

func scanLead(row scanner) (Lead, error) {
	var lead Lead
	var started, accepted, deadline, finished int64
	var want, contact, result string
	err := row.Scan(&lead.ID, &lead.Account, &lead.Key, &lead.Subject, &lead.Company, &lead.Lane, &lead.Origin, &lead.State,
		&lead.Reason, &lead.Revision, &lead.Fence, &lead.Owner, &lead.Attempts, &started, &accepted, &deadline, &finished,
		&lead.Cost, &want, &lead.Address, &contact, &result)
	if err != nil {
		return Lead{}, err
	}
	lead.StartedAt, lead.AcceptedAt = fromMillis(started), fromMillis(accepted)
	lead.Deadline, lead.FinishedAt = fromMillis(deadline), fromMillis(finished)
	if contact != "" {
		lead.Contact = json.RawMessage(contact)
	}
	if result != "" {
		lead.Result = json.RawMessage(result)
	}
	return lead, json.Unmarshal([]byte(want), &lead.Want)
}
