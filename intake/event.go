// Package intake reads what others send: events of captured leads with their
// signatures, and files of leads. What cannot be read is refused with a cause
// and a position, never with the value.
package intake

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
)

// Schema is the JSON Schema of LeadCaptured events, as it is published.
//
//go:embed leadcaptured.schema.json
var Schema []byte

const (
	// MostOfEvent is the most bytes of an event.
	MostOfEvent = 64 << 10
	// aheadAtMost is how far an event's clock may be ahead of ours.
	aheadAtMost = 5 * time.Minute
)

// earliest is the time before which nothing was captured: a clock that says so
// was never set.
var earliest = time.Unix(0, 0)

// Cause is one reason to refuse an event.
type Cause struct {
	// Pointer to the place (RFC 6901); empty: the event itself.
	Pointer string
	// Code is the schema's keyword that it breaks, or "not_json", "repeated_name",
	// "too_large", "future", "past".
	Code string
}

// RefusedError is an event of the wrong shape. It holds nothing of the event.
type RefusedError struct{ Causes []Cause }

// Error lists codes and places.
func (e *RefusedError) Error() string { return "intake: refused: " + e.Places() }

// Places lists codes and places.
func (e *RefusedError) Places() string {
	texts := make([]string, len(e.Causes))
	for i, cause := range e.Causes {
		texts[i] = cause.Code + " at " + cmp.Or(cause.Pointer, "/")
	}
	return strings.Join(texts, ", ")
}

// Event is a LeadCaptured event.
type Event struct {
	ID         string          `json:"eventId"`
	CapturedAt time.Time       `json:"capturedAt"`
	Contact    json.RawMessage `json:"contact"`
	UTM        json.RawMessage `json:"utm,omitempty"`
	Page       string          `json:"page,omitempty"`
	// Purpose that the lead is wanted for, which the receiver sets.
	Purpose string `json:"-"`

	email string
}

// compiled is the schema with formats asserted.
var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	const name = "lead-captured.json"
	if err := compiler.AddResource(name, document); err != nil {
		return nil, err
	}
	return compiler.Compile(name)
})

// ParseEvent checks an event against the schema and reads it. The error is a
// *RefusedError.
func ParseEvent(body []byte, now time.Time) (Event, error) {
	refuse := func(causes ...Cause) (Event, error) { return Event{}, &RefusedError{Causes: causes} }
	if len(body) > MostOfEvent {
		return refuse(Cause{Code: "too_large"})
	}
	schema, err := compiled()
	if err != nil {
		return Event{}, fmt.Errorf("intake: schema: %w", err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return refuse(Cause{Code: "not_json"})
	}
	if repeatsName(json.NewDecoder(bytes.NewReader(body))) {
		return refuse(Cause{Code: "repeated_name"})
	}
	var invalid *jsonschema.ValidationError
	if err := schema.Validate(document); errors.As(err, &invalid) {
		return refuse(causes(invalid)...)
	} else if err != nil {
		return Event{}, fmt.Errorf("intake: schema: %w", err)
	}
	var event Event
	var contact struct{ Email string }
	err = json.Unmarshal(body, &event)
	var unread *time.ParseError // the format has leap seconds and small letters too
	if errors.As(err, &unread) {
		return refuse(Cause{Pointer: "/capturedAt", Code: "format"})
	}
	if err != nil || json.Unmarshal(event.Contact, &contact) != nil {
		return refuse(Cause{Code: "not_json"})
	}
	if event.CapturedAt.After(now.Add(aheadAtMost)) {
		return refuse(Cause{Pointer: "/capturedAt", Code: "future"})
	}
	if event.CapturedAt.Before(earliest) {
		return refuse(Cause{Pointer: "/capturedAt", Code: "past"})
	}
	event.email = contact.Email
	return event, nil
}

// repeatsName tells whether an object in a value of JSON, which can be read, has
// two members of one name: readers differ in which of them counts, so that a
// filter in between may have looked at the other.
func repeatsName(value *json.Decoder) bool {
	opening, _ := value.Token()
	if _, nests := opening.(json.Delim); !nests {
		return false
	}
	names := map[json.Token]bool{}
	for value.More() {
		if opening == json.Delim('{') {
			name, _ := value.Token()
			if names[name] {
				return true
			}
			names[name] = true
		}
		if repeatsName(value) {
			return true
		}
	}
	_, _ = value.Token() // the closing one
	return false
}

// causes are the leaves of a validation error, sorted and once each. Names in
// places are the schema's own: unknown ones are told by their parent.
func causes(invalid *jsonschema.ValidationError) (all []Cause) {
	if len(invalid.Causes) == 0 {
		cause := Cause{Code: "invalid"}
		for _, name := range invalid.InstanceLocation {
			cause.Pointer += "/" + name
		}
		if path := invalid.ErrorKind.KeywordPath(); len(path) > 0 {
			cause.Code = path[len(path)-1]
		}
		return []Cause{cause}
	}
	for _, inner := range invalid.Causes {
		all = append(all, causes(inner)...)
	}
	slices.SortFunc(all, func(a, b Cause) int { return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Code, b.Code)) })
	return slices.Compact(all)
}

// Acceptor accepts leads in a transaction; jobs.Engine does.
type Acceptor interface {
	SubmitIn(ctx context.Context, tx *sql.Tx, account enrich.Account, leads []jobs.Lead) ([]jobs.Result, error)
}

// ReasonReused is the reason of the refusal, of kind Rejected, of an event that
// says something else than the one that came before under its id.
const ReasonReused = "event_id_reused"

var errReused = &enrich.Error{Kind: enrich.Rejected, Field: "eventId", Reason: ReasonReused, Offset: -1,
	Message: "the event's id was used with another event"}

// errRepeated ends the transaction of an event whose lead is another one by now.
var errRepeated = errors.New("intake: the event came before")

// content is all that the event says, however it was written.
func (e Event) content() ([]byte, error) {
	said := struct {
		At           time.Time
		Contact, UTM any
		Page         string
	}{At: e.CapturedAt.UTC(), Page: e.Page}
	if err := json.Unmarshal(e.Contact, &said.Contact); err != nil {
		return nil, err
	}
	if len(e.UTM) > 0 {
		if err := json.Unmarshal(e.UTM, &said.UTM); err != nil {
			return nil, err
		}
	}
	return json.Marshal(said)
}

// Accept writes an event's lead down. An event that came before adds nothing:
// deliveries may repeat and come in any order. One that says something else
// under the same id is refused. It returns when all lies on the disk.
func (e Event) Accept(ctx context.Context, store *ledger.Store, acceptor Acceptor, account enrich.Account) (result jobs.Result, err error) {
	kept, err := json.Marshal(e)
	if err != nil {
		return jobs.Result{}, fmt.Errorf("intake: event: %w", err)
	}
	content, err := e.content()
	if err != nil {
		return jobs.Result{}, fmt.Errorf("intake: event: %w", err)
	}
	var first string
	err = store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		results, err := acceptor.SubmitIn(ctx, tx, account, []jobs.Lead{{Email: e.email, At: e.CapturedAt, Contact: kept, Lane: enrich.Interactive, Origin: "event",
			Want: ledger.Want{Purpose: e.Purpose}}})
		if err != nil {
			return err
		}
		if result = results[0]; result.Refused != nil {
			return nil
		}
		first, err = store.Received(ctx, tx, ledger.Reception{Account: account.Name, Event: e.ID, Lead: result.Receipt.ID, Content: content})
		if err == nil && first != result.Receipt.ID {
			return errRepeated
		}
		return err
	})
	switch {
	case errors.Is(err, ledger.ErrReused):
		return jobs.Result{Refused: errReused}, nil
	case errors.Is(err, errRepeated):
		return jobs.Result{Receipt: ledger.Receipt{ID: first, Key: result.Receipt.Key}}, nil
	}
	return result, err
}
