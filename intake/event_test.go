package intake_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/intake"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
)

const event = `{"eventId":"e-1","capturedAt":"2026-03-01T23:59:00+02:00","contact":{"email":"Ada@lovelace.example","name":"Ada"},"utm":{"source":"fair"}}`

func TestEventsAreAcceptedOnce(t *testing.T) {
	store, engine := open(t)
	var first ledger.Receipt
	for n := range 2 {
		parsed, err := intake.ParseEvent([]byte(event), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		result, err := parsed.Accept(t.Context(), store, engine, acme)
		if err != nil || result.Refused != nil || result.Receipt.New != (n == 0) {
			t.Fatalf("time %d: %+v, %v", n+1, result, err)
		}
		if n == 0 {
			first = result.Receipt
		} else if result.Receipt.ID != first.ID {
			t.Error("another lead")
		}
	}
	lead, err := store.Lead(t.Context(), first.ID)
	address, _ := email.Normalize("ada@lovelace.example")
	if err != nil || !strings.Contains(string(lead.Contact), "fair") || lead.Key != email.IdempotencyKey(address, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v, %v", lead, err)
	}
}

// TestAnEventsIDIsOneEvent sends an id again with what it said, written another
// way, and with something else.
func TestAnEventsIDIsOneEvent(t *testing.T) {
	store, engine := open(t)
	send := func(body string) jobs.Result {
		t.Helper()
		parsed, err := intake.ParseEvent([]byte(body), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		result, err := parsed.Accept(t.Context(), store, engine, acme)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	change := func(old, new string) string { return strings.Replace(event, old, new, 1) }
	first := send(event)
	for name, body := range map[string]string{
		"spaces":           change(`,"utm"`, ` , "utm"`),
		"order":            change(`"email":"Ada@lovelace.example","name":"Ada"`, `"name":"Ada","email":"Ada@lovelace.example"`),
		"the same instant": change("2026-03-01T23:59:00+02:00", "2026-03-01T21:59:00Z"),
		"an escape":        change("fair", `f\u0061ir`),
	} {
		if again := send(body); again.Refused != nil || again.Receipt.New || again.Receipt.ID != first.Receipt.ID {
			t.Errorf("%s: %+v", name, again)
		}
	}
	for name, body := range map[string]string{
		"somebody else":  change("Ada@", "grace@"),
		"another name":   change(`"Ada"`, `"Eve"`),
		"another source": change("fair", "letter"),
		"another page":   change(`"utm"`, `"page":"https://acme.example/","utm"`),
		"another day":    change("2026-03-01", "2026-03-02"),
	} {
		other := send(body)
		if other.Refused == nil || other.Refused.Kind != enrich.Rejected || other.Refused.Reason != intake.ReasonReused {
			t.Errorf("%s: %+v", name, other)
		}
	}
	if result := send(change("e-1", "e-2")); result.Refused != nil || result.Receipt.ID != first.Receipt.ID {
		t.Errorf("another id: %+v", result)
	}
	leads, err := store.Leads(t.Context(), ledger.Filter{Most: 10})
	if err != nil || len(leads) != 1 {
		t.Errorf("%d leads, %v", len(leads), err)
	}
}

// TestAnEventOutlivesItsLead sends an event again whose lead was deleted, its
// time being over.
func TestAnEventOutlivesItsLead(t *testing.T) {
	store, engine := open(t)
	parsed, err := intake.ParseEvent([]byte(event), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	first, err := parsed.Accept(t.Context(), store, engine, acme)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Pool().Exec(`DELETE FROM leads`); err != nil {
		t.Fatal(err)
	}
	again, err := parsed.Accept(t.Context(), store, engine, acme)
	if err != nil || again.Refused != nil || again.Receipt.New || again.Receipt.ID != first.Receipt.ID {
		t.Errorf("%+v, %v", again, err)
	}
	if leads, err := store.Leads(t.Context(), ledger.Filter{Most: 10}); err != nil || len(leads) != 0 {
		t.Errorf("%d leads, %v", len(leads), err)
	}
}

func TestEventsOfTheWrongShapeAreRefusedByCause(t *testing.T) {
	now := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	change := func(old, new string) string { return strings.Replace(event, old, new, 1) }
	for want, body := range map[string]string{
		"not_json at /":                    `{"eventId":`,
		"too_large at /":                   `{"eventId":"` + strings.Repeat("x", intake.MostOfEvent) + `"}`,
		"type at /":                        `[]`,
		"required at /":                    `{"eventId":"e"}`,
		"format at /capturedAt":            change("2026-03-01T23:59:00+02:00", "yesterday"),
		"format at /capturedAt ":           change("2026-03-01T23:59:00+02:00", "2016-12-31T23:59:60Z"),
		"future at /capturedAt":            change("2026-03-01T23:59:00+02:00", "2026-03-02T00:06:00Z"),
		"past at /capturedAt":              change("2026-03-01T23:59:00+02:00", "1970-01-01T01:59:59+02:00"),
		"past at /capturedAt ":             change("2026-03-01T23:59:00+02:00", "0000-01-01T00:00:00Z"),
		"repeated_name at /":               change(`"utm"`, `"event\u0049d":"secret-value","utm"`),
		"repeated_name at / ":              change(`"name"`, `"email":"eve@lovelace.example","name"`),
		"repeated_name at /  ":             change(`"fair"`, `[{"a":1,"a":2}]`),
		"pattern at /eventId":              change("e-1", "e.1"),
		"additionalProperties at /":        change(`"utm"`, `"ssn":"secret-value","utm"`),
		"additionalProperties at /contact": change(`"name"`, `"secret-value":1,"name"`),
		"type at /contact/email":           change(`"Ada@lovelace.example"`, `7`),
		"maxLength at /contact/email":      change("Ada@", strings.Repeat("a", 2000)+"@"),
	} {
		_, err := intake.ParseEvent([]byte(body), now)
		var refused *intake.RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("want %s, got %.300v", want, err)
		} else if strings.Contains(err.Error(), "secret-value") || strings.Contains(err.Error(), "lovelace") {
			t.Errorf("the error repeats the event: %v", err)
		}
	}
	if _, err := intake.ParseEvent([]byte(event), now); err != nil {
		t.Error(err)
	}
}

// FuzzEvent finds no body that makes reading panic, is let in without its id,
// time and address, or is repeated in the error.
func FuzzEvent(f *testing.F) {
	for _, seed := range []string{event, `{`, `[]`, `null`, `{"eventId":"e","capturedAt":"2026-03-01T00:00:00Z","contact":{"email":"a@b.example"}}`,
		strings.Replace(event, `"name":"Ada"`, `"name":{"secret-value":1}`, 1), strings.Replace(event, "2026", "9999", 1), strings.Replace(event, "2026", "0001", 1),
		strings.Replace(event, `"name"`, `"email":"eve@b.example","name"`, 1), event + event} {
		f.Add([]byte(seed))
	}
	now := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		read, err := intake.ParseEvent(body, now)
		var refused *intake.RefusedError
		switch {
		case err == nil:
			var contact struct{ Email string }
			if json.Unmarshal(read.Contact, &contact) != nil || contact.Email == "" || read.ID == "" || read.CapturedAt.Year() < 1969 {
				t.Errorf("let in as %+v", read)
			}
		case !errors.As(err, &refused) || len(refused.Causes) == 0:
			t.Errorf("refused without a cause: %v", err)
		case strings.Contains(err.Error(), "secret-value"):
			t.Errorf("the error repeats the event: %v", err)
		}
	})
}
