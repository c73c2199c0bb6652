package providers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/engine"
)

// ReplayResult is what a case came to.
type ReplayResult struct {
	Name    string                            `json:"name"`
	Outcome enrich.Outcome                    `json:"outcome"`
	Facts   map[enrich.Attribute]enrich.Value `json:"facts"`
	// Gaps tells of every wanted attribute without a value, that the call
	// supplies, whether it is absent, suppressed or unknown. Empty when the
	// vendor did not finish.
	Gaps  map[enrich.Attribute]string `json:"gaps"`
	Drift []enrich.Attribute          `json:"drift"`
	// WaitMS is the vendor's own hint, PauseUntil how long it closes the
	// provider.
	WaitMS     *int64       `json:"wait_ms,omitempty"`
	PauseUntil string       `json:"pause_until,omitempty"`
	Charge     ReplayCharge `json:"charge"`
	// Calls made, and recorded answers left over.
	Calls  int `json:"calls"`
	Unused int `json:"unused"`
	// Error says why the case could not be replayed.
	Error string `json:"error,omitempty"`

	call  string // that was made
	rules []int  // lines of the rules that decided
}

// ReplayCharge is what all calls of a case cost.
type ReplayCharge struct {
	Micros enrich.Micros `json:"micros"`
	Known  bool          `json:"known"`
}

// Replay runs recorded cases through their definitions. Nothing is waited for
// and nobody is called: pending polls follow at once.
func Replay(library Library, cases []ReplayCase) []ReplayResult {
	results := make([]ReplayResult, len(cases))
	loaded, refused := map[string]*engine.Definition{}, map[string]bool{}
	for i, one := range cases {
		definition, err := loaded[one.Definition], error(nil)
		if definition == nil {
			if refused[one.Definition] {
				err = fmt.Errorf("the definition %q could not be loaded, as told above", one.Definition)
			} else {
				definition, err = library.Load(one.Definition)
			}
			loaded[one.Definition], refused[one.Definition] = definition, err != nil
		}
		if err != nil {
			results[i] = ReplayResult{Name: one.Name, Error: err.Error()}
			continue
		}
		results[i] = replay(definition, one, nil)
	}
	return results
}

// WriteResults writes one JSON line for each result.
func WriteResults(out io.Writer, results []ReplayResult) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, result := range results {
		if err := encoder.Encode(result); err != nil {
			return fmt.Errorf("results: %w", err)
		}
	}
	return nil
}

// replayNormalizer accepts what recorded cases use that production refuses.
var replayNormalizer = func() *email.Normalizer {
	normalizer, err := email.New(email.Config{ReservedOK: []string{"test", "invalid"}, AcceptPlaceholders: true, TLDCheck: email.TLDOff})
	if err != nil {
		panic(err)
	}
	return normalizer
}()

// replaying is one case under way.
type replaying struct {
	vendor    *Vendor
	recorded  ReplayCase
	exchanges []ReplayExchange // left
	result    ReplayResult
}

// errNoAnswer means that a case has fewer answers than calls.
var errNoAnswer = errors.New("no recorded answer")

func replay(definition *engine.Definition, one ReplayCase, trace *engine.Trace) ReplayResult {
	credentials := map[string]string{}
	for _, secret := range definition.Secrets() {
		credentials[secret] = "replayed"
	}
	vendor := newVendor(ProviderConfig{Credentials: credentials}, definition, nil)
	vendor.tokens, vendor.replayed, vendor.trace = nil, true, trace // signing is not replayed
	if one.Now.IsZero() {
		one.Now = time.Now()
	}
	r := replaying{vendor: vendor, recorded: one, exchanges: one.Exchanges, result: ReplayResult{
		Name: one.Name, Facts: map[enrich.Attribute]enrich.Value{}, Gaps: map[enrich.Attribute]string{},
		Drift: []enrich.Attribute{}, Charge: ReplayCharge{Known: true}, Unused: len(one.Exchanges),
	}}
	query, err := r.query()
	if err != nil {
		r.result.Error = err.Error()
		return r.result
	}
	r.run(query)
	return r.result
}

func (r *replaying) query() (Query, error) {
	var query Query
	asked := r.recorded.Query
	switch {
	case asked.Email != "":
		address, err := replayNormalizer.Normalize(asked.Email)
		if err != nil {
			return query, fmt.Errorf("query.email: %w", err)
		}
		query.Subject = enrich.PersonSubject(address)
	case asked.Domain != "":
		domain, err := replayNormalizer.NormalizeDomain(asked.Domain)
		if err != nil {
			return query, fmt.Errorf("query.domain: %w", err)
		}
		query.Subject = enrich.CompanySubject(domain)
	default:
		return query, errors.New("query: needs email or domain")
	}
	for _, field := range asked.Fields {
		if _, known := enrich.SpecOf(field); !known {
			return query, fmt.Errorf("query.fields: there is no attribute %q", field)
		}
	}
	query.Wanted = asked.Fields
	if len(query.Wanted) == 0 {
		query.Wanted = r.all(query.Subject.Kind())
	}
	call, ok := r.vendor.Choose(query.Subject.Kind(), query.Wanted)
	if !ok {
		return query, errors.New("query: the definition has no call that supplies any of this")
	}
	r.result.call = call.Operation
	return query, nil
}

// all are the attributes of the first call for a kind of subject, without those
// of the other kind.
func (r *replaying) all(kind enrich.SubjectKind) []enrich.Attribute {
	var all []enrich.Attribute
	for _, call := range r.vendor.calls {
		if call.Kind == kind && all == nil {
			for _, supply := range call.Supplies {
				if supply.Attribute.Kind() == kind {
					all = append(all, supply.Attribute)
				}
			}
		}
	}
	return all
}

// run makes the calls of the case.
func (r *replaying) run(query Query) {
	for {
		poll := query.Step != nil && query.Step.Poll
		if poll && len(r.exchanges) == 0 {
			r.leavePending()
			return
		}
		reply := r.vendor.lookup(context.Background(), query, func() time.Time { return r.recorded.Now }, r.answer)
		r.take(query, reply)
		if reply.Next == nil {
			return
		}
		query.Step = reply.Next
	}
}

// leavePending ends a case whose last answer says that the vendor is still at
// work, and would say so for ever: how long to ask is not the definition's
// business. A job that was accepted may have been charged.
func (r *replaying) leavePending() {
	call := r.vendor.definition.Call(r.result.call)
	if call.Price(r.vendor.pricing) != enrich.KnownCharge(0) {
		r.result.Charge.Known = false
	}
}

// answer gives the next recorded answer.
func (r *replaying) answer(context.Context, engine.Outgoing) (response, *failure) {
	if len(r.exchanges) == 0 {
		return response{}, &failure{outcome: enrich.Timeout, reason: errNoAnswer.Error()}
	}
	next := r.exchanges[0]
	r.exchanges = r.exchanges[1:]
	r.result.Calls++
	r.result.Unused = len(r.exchanges)
	return next.response(), nil
}

func (x ReplayExchange) response() response {
	header := http.Header{}
	for name, value := range x.Headers {
		values, several := value.([]any)
		if !several {
			values = []any{value}
		}
		for _, value := range values {
			header.Add(name, fmt.Sprint(value))
		}
	}
	body := []byte(x.Body)
	var text string
	if json.Unmarshal(x.Body, &text) == nil {
		body = []byte(text)
	}
	return response{status: x.Status, header: header, body: body}
}

// take adds a reply to the result; what it says replaces what earlier ones
// said, except for charges and drift.
func (r *replaying) take(query Query, reply Reply) {
	result := &r.result
	result.Outcome, result.WaitMS, result.PauseUntil = reply.Outcome, nil, ""
	result.rules = append(result.rules, reply.rule)
	if reply.Wait != nil {
		millis := reply.Wait.Milliseconds()
		result.WaitMS = &millis
	}
	if !reply.PauseUntil.IsZero() {
		result.PauseUntil = reply.PauseUntil.UTC().Format(time.RFC3339Nano)
	}
	result.Charge.Micros += reply.Charge.Micros
	result.Charge.Known = result.Charge.Known && reply.Charge.Known
	for _, attribute := range reply.Drift {
		if !slices.Contains(result.Drift, attribute) {
			result.Drift = append(result.Drift, attribute)
		}
	}
	states := map[enrich.State]string{enrich.StateAbsent: enrich.ReasonAbsent, enrich.StateSuppressed: enrich.ReasonSuppressed}
	for _, fact := range reply.Facts {
		if fact.State == enrich.StateValue {
			result.Facts[fact.Attribute] = fact.Value
		} else {
			result.Gaps[fact.Attribute] = states[fact.State]
		}
	}
	if reply.Outcome == enrich.Hit || reply.Outcome == enrich.Partial {
		r.nameUnknown(query)
	}
}

// nameUnknown adds the wanted attributes that the answer leaves open.
func (r *replaying) nameUnknown(query Query) {
	call := r.vendor.definition.Call(r.result.call)
	for _, attribute := range query.Wanted {
		_, found := r.result.Facts[attribute]
		_, gap := r.result.Gaps[attribute]
		if call.CanSupply(attribute) && !found && !gap {
			r.result.Gaps[attribute] = "unknown"
		}
	}
}

// Differences compares the result with what the case expects, as far as it
// says: facts exactly, charges and others by value.
func (r ReplayResult) Differences(expect map[string]json.RawMessage) []string {
	if r.Error != "" {
		return []string{r.Error}
	}
	encoded, err := json.Marshal(r)
	if err != nil {
		return []string{err.Error()}
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &got); err != nil {
		return []string{err.Error()}
	}
	var differences []string
	for _, name := range sortedKeys(expect) {
		if !sameJSON(got[name], expect[name]) {
			differences = append(differences, fmt.Sprintf("%s: got %s, want %s", name, orNothing(got[name]), expect[name]))
		}
	}
	return differences
}

func orNothing(value json.RawMessage) string {
	if value == nil {
		return "nothing"
	}
	return string(value)
}

// sameJSON compares two JSON values; a missing one equals null.
func sameJSON(a, b json.RawMessage) bool {
	var left, right any
	_ = json.Unmarshal(a, &left)  // a missing or broken value stays nil
	_ = json.Unmarshal(b, &right) // likewise
	l, _ := json.Marshal(left)
	r, _ := json.Marshal(right)
	return strings.TrimSpace(string(l)) == strings.TrimSpace(string(r))
}
