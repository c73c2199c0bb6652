package ledger_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
)

func timeline(t *testing.T, store *ledger.Store) {
	for round := range 3 {
		var events []ledger.Event
		for i := range 30 {
			events = append(events, ledger.Event{Subject: "s", At: time.Now(), Kind: ledger.EventAsked, Account: "acme", Lead: "l",
				Detail: ledger.Detail{"n": round*30 + i}})
		}
		events = append(events, ledger.Event{Subject: "other", Kind: ledger.EventFound})
		write(t, store, func(ctx context.Context, tx *sql.Tx) error { return store.Note(ctx, tx, events...) })
	}
	kept, err := store.Timeline(t.Context(), "s")
	if err != nil || len(kept) != ledger.Kept {
		t.Fatalf("%d events, %v", len(kept), err)
	}
	for i, event := range kept {
		if want := float64(90 - ledger.Kept + i); event.Detail["n"] != want {
			t.Fatalf("event %d is %v", i, event.Detail["n"])
		}
	}
	if other, _ := store.Timeline(t.Context(), "other"); len(other) != 3 {
		t.Errorf("the other subject has %d events", len(other))
	}
}

func charges(t *testing.T, store *ledger.Store) {
	one := ledger.Charge{Key: "l:vendor:1", Account: "acme", Lead: "l", Provider: "vendor", Charged: enrich.KnownCharge(40), At: time.Now()}
	unknown := ledger.Charge{Key: "l:vendor:2", Account: "acme", Lead: "l", Provider: "vendor", At: time.Now()}
	for range 2 {
		write(t, store, func(ctx context.Context, tx *sql.Tx) error { return store.Charge(ctx, tx, one, unknown) })
	}
	spent, err := store.Spent(t.Context(), time.Now().Add(-time.Hour))
	if want := (ledger.Spending{Account: "acme", Provider: "vendor", Calls: 2, Unknown: 1, Micros: 40}); err != nil || len(spent) != 1 || spent[0] != want {
		t.Errorf("%+v, %v", spent, err)
	}
	seen := 0
	if err := store.EachCharge(t.Context(), time.Time{}, func(ledger.Charge) error { seen++; return nil }); err != nil || seen != 2 {
		t.Errorf("exported %d, %v", seen, err)
	}
}

func answers(t *testing.T, store *ledger.Store) {
	fact := func(source string, attribute enrich.Attribute, value enrich.Value) enrich.Fact {
		return enrich.Fact{Attribute: attribute, State: enrich.StateValue, Value: value, Source: source,
			FetchedAt: time.Now().Truncate(time.Millisecond), Confidence: 0.9, Price: 12}
	}
	first := enrich.NewRecord(fact("a", "person.title", enrich.TextValue("Engineer")),
		enrich.Fact{Attribute: "person.phone", State: enrich.StateAbsent, Source: "a", FetchedAt: time.UnixMilli(5)})
	second := enrich.NewRecord(fact("b", "company.employee_count", enrich.NumberValue(40)),
		fact("b", "company.technologies", enrich.ListValue([]string{"go", "sql"})))
	later := time.Now().Add(time.Hour)
	for _, record := range []enrich.Record{first, second} {
		if err := store.KeepAnswer(t.Context(), "s", record, later); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := store.Answer(t.Context(), "s")
	want := first.Join(second).Facts()
	if err != nil || len(kept.Facts()) != len(want) {
		t.Fatalf("kept %v, %v", kept.Facts(), err)
	}
	for i, got := range kept.Facts() {
		if got.Attribute != want[i].Attribute || !got.Value.Equal(want[i].Value) || got.Source != want[i].Source ||
			!got.FetchedAt.Equal(want[i].FetchedAt) || got.State != want[i].State || got.Price != want[i].Price {
			t.Errorf("fact %d of %s differs", i, want[i].Attribute)
		}
	}
	if err := store.KeepAnswer(t.Context(), "old", first, time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if old, err := store.Answer(t.Context(), "old"); err != nil || !old.IsEmpty() {
		t.Errorf("an answer beyond its time: %v, %v", old, err)
	}
}

func outbox(t *testing.T, store *ledger.Store) {
	delivery := func(id, operation string, version int64) ledger.Delivery {
		return ledger.Delivery{ID: id, Lead: "l", Account: "acme", Subject: "s", Sink: "hook", OperationKey: operation,
			Version: version, CreatedAt: time.Now(), Payload: []byte(`{"a":1}`)}
	}
	for i, d := range []ledger.Delivery{delivery("1", "op", 10), delivery("2", "op", 11), delivery("3", "op2", 5)} {
		write(t, store, func(ctx context.Context, tx *sql.Tx) error {
			fresh, err := store.Post(ctx, tx, d)
			if want := i != 1; len(fresh) == 1 != want {
				t.Errorf("delivery %s is fresh: %v", d.ID, fresh)
			}
			return err
		})
	}
	for first := range 2 {
		write(t, store, func(ctx context.Context, tx *sql.Tx) error {
			once := ledger.DeliveryEnd{Delivery: delivery("1", "op", 10), State: ledger.DeliveryDone}
			ended, err := store.EndDeliveries(ctx, tx, once, once)
			if err == nil && (ended[0] != (first == 0) || ended[1]) {
				t.Errorf("ended time %d: %v", first+1, ended)
			}
			return err
		})
	}
	if d, err := store.Dispatch(t.Context(), "3"); err != nil || d.Head != 10 || d.Version != 5 || d.LeadKept {
		t.Errorf("%+v, %v", d, err)
	}
	write(t, store, func(ctx context.Context, tx *sql.Tx) error {
		_, err := store.EndDeliveries(ctx, tx, ledger.DeliveryEnd{Delivery: delivery("3", "op2", 5), State: ledger.DeliveryError, Reason: "gone"})
		return err
	})
	write(t, store, func(ctx context.Context, tx *sql.Tx) error { return store.ReopenDelivery(ctx, tx, "3") })
	if pending, err := store.PendingDeliveries(t.Context(), "", 10); err != nil || len(pending) != 1 || pending[0] != (ledger.Waiting{ID: "3", Revision: 1}) {
		t.Errorf("pending %v, %v", pending, err)
	}
}

func deadLetters(t *testing.T, store *ledger.Store) {
	letter := ledger.DeadLetter{Kind: ledger.DeadLead, Target: "l", Lead: "l", Account: "acme", Subject: "s", Lane: enrich.Bulk,
		Reason: "unavailable", Provider: "vendor", Message: "providers are failing", Attempts: 3,
		Tries: []ledger.Try{{Provider: "vendor", Outcome: "timeout", Took: time.Second}}}
	for _, reason := range []string{"unavailable", "rejected"} {
		letter.Reason = reason
		write(t, store, func(ctx context.Context, tx *sql.Tx) error { return store.Bury(ctx, tx, letter) })
	}
	letters, err := store.DeadLetters(t.Context(), ledger.DeadFilter{Reason: "rejected", Lane: enrich.Bulk})
	if err != nil || len(letters) != 1 || letters[0].Attempts != 6 || letters[0].Tries[0].Outcome != "timeout" {
		t.Fatalf("%+v, %v", letters, err)
	}
	for i := range 2 {
		err := store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			return store.Resolve(ctx, tx, letters[0].ID, "resolved", "done by hand")
		})
		if (i == 0) != (err == nil) {
			t.Errorf("resolved time %d: %v", i+1, err)
		}
	}
	write(t, store, func(ctx context.Context, tx *sql.Tx) error { return store.Bury(ctx, tx, letter) })
	if counts, err := store.CountDead(t.Context(), ledger.DeadFilter{}); err != nil || len(counts) != 1 || counts[0].Letters != 1 {
		t.Errorf("%+v, %v", counts, err)
	}
	if old, err := store.DeadLetter(t.Context(), letters[0].ID); err != nil || old.Note != "done by hand" {
		t.Errorf("%+v, %v", old, err)
	}
}

// unmovable asks with texts that PostgreSQL does not take: SQLite keeps none.
func unmovable(t *testing.T, store *ledger.Store) {
	letter := ledger.DeadLetter{Kind: ledger.DeadLead, Target: "l", Lead: "l", Account: "acme", Subject: "s", Lane: enrich.Bulk}
	write(t, store, func(ctx context.Context, tx *sql.Tx) error { return store.Bury(ctx, tx, letter) })
	letters, err := store.DeadLetters(t.Context(), ledger.DeadFilter{})
	if err != nil || len(letters) != 1 {
		t.Fatalf("%+v, %v", letters, err)
	}
	for _, text := range []string{"a\x00b", "a\xff"} {
		err := store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			return store.Resolve(ctx, tx, letters[0].ID, "resolved", text)
		})
		if !ledger.RefusesText(err) {
			t.Errorf("a note %q: %v", text, err)
		}
		if _, err := store.DeadLetter(t.Context(), text); !ledger.RefusesText(err) && !errors.Is(err, ledger.ErrUnknown) {
			t.Errorf("an id %q: %v", text, err)
		}
	}
	if ledger.RefusesText(ledger.ErrUnknown) || ledger.RefusesText(nil) {
		t.Error("any error is one of a text")
	}
}

func imports(t *testing.T, store *ledger.Store) {
	begun, err := store.BeginImport(t.Context(), "acme", "digest")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := store.BeginImport(t.Context(), "acme", "digest"); err != nil || again.ID != begun.ID {
		t.Errorf("the same file again: %+v, %v", again, err)
	}
	advance := func(from int64, finished bool, rows ...ledger.Row) error {
		return store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			return store.AdvanceImport(ctx, tx, begun.ID, from, rows, finished)
		})
	}
	rows := []ledger.Row{{Line: 2, Status: ledger.RowAccepted, Lead: "l"}, {Line: 3, Status: ledger.RowRefused, Reason: "syntax"}}
	if err := advance(0, false, rows...); err != nil {
		t.Fatal(err)
	}
	if err := advance(0, false, rows...); !errors.Is(err, ledger.ErrTaken) {
		t.Errorf("the same rows again: %v", err)
	}
	if err := advance(2, true, ledger.Row{Line: 4, Status: ledger.RowRepeated}); err != nil {
		t.Fatal(err)
	}
	got, err := store.Import(t.Context(), begun.ID)
	if err != nil || got.NextRow != 3 || got.Accepted != 1 || got.Refused != 1 || got.Repeated != 1 || got.FinishedAt.IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
	if listed, err := store.ImportRows(t.Context(), begun.ID, 2, 10); err != nil || len(listed) != 2 || listed[0].Reason != "syntax" {
		t.Errorf("%+v, %v", listed, err)
	}
}

func switches(t *testing.T, store *ledger.Store) {
	off := func(until time.Time) {
		if err := store.TurnOff(t.Context(), ledger.Switch{Scope: ledger.ScopeLane, Name: "bulk", Until: until, Reason: "throttled"}); err != nil {
			t.Fatal(err)
		}
	}
	off(time.Now().Add(-time.Second))
	if stops, err := store.Switches(t.Context()); err != nil || len(stops) != 0 {
		t.Errorf("a stop that is over: %v, %v", stops, err)
	}
	off(time.Time{})
	off(time.Now().Add(time.Hour))
	stops, err := store.Switches(t.Context())
	if err != nil || len(stops) != 1 || !stops[0].Until.IsZero() {
		t.Fatalf("the endless stop was shortened: %+v, %v", stops, err)
	}
	if err := store.TurnOn(t.Context(), ledger.ScopeLane, "bulk"); err != nil {
		t.Fatal(err)
	}
	if stops, _ = store.Switches(t.Context()); len(stops) != 0 {
		t.Errorf("still stopped: %+v", stops)
	}
}

// erasure looks for what was erased in every column of every table.
func erasure(t *testing.T, store *ledger.Store) {
	sub := submission(t, store, ada, func(s *ledger.Submission) { s.Contact = []byte(`{"name":"Ada Lovelace"}`) })
	other := submission(t, store, "grace@hopper.example")
	receipts := accept(t, store, "acme", sub, other)
	held := claim(t, store, receipts[0].ID)
	write(t, store, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := store.Post(ctx, tx, ledger.Delivery{ID: "d", Lead: held.ID, Account: "acme", Subject: sub.Subject, Sink: "hook",
			OperationKey: "op", Payload: []byte(`{"email":"` + ada + `"}`)}); err != nil {
			return err
		}
		if _, err := store.Received(ctx, tx, ledger.Reception{Account: "acme", Event: "event-1", Lead: held.ID, Content: []byte(ada)}); err != nil {
			return err
		}
		return store.Bury(ctx, tx, ledger.DeadLetter{Kind: ledger.DeadLead, Target: held.ID, Lead: held.ID, Subject: sub.Subject})
	})
	record := enrich.NewRecord(enrich.Fact{Attribute: "person.title", State: enrich.StateValue, Value: enrich.TextValue("Countess"), Source: "v", FetchedAt: time.Now()})
	if err := store.KeepAnswer(t.Context(), sub.Subject, record, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if count, err := store.EraseSubject(t.Context(), sub.Subject); err != nil || count != 1 {
		t.Fatalf("erased %d, %v", count, err)
	}
	for _, table := range []string{"leads", "answers", "charges", "timeline", "timeline_ends", "outbox", "outbox_heads", "dead_letters", "import_rows", "events"} {
		for _, secret := range []string{ada, "Ada Lovelace", sub.Subject, sub.Key} {
			if bytes.Contains(dump(t, store, table), []byte(secret)) {
				t.Errorf("%s still holds something of the subject", table)
			}
		}
	}
	if got := lead(t, store, held.ID); got.State != ledger.StateCancelled || got.Reason != "erased" {
		t.Errorf("the lead is %+v", got)
	}
	if got := lead(t, store, receipts[1].ID); got.Address != "grace@hopper.example" {
		t.Error("another subject was erased too")
	}
}

func dump(t *testing.T, store *ledger.Store, table string) []byte {
	t.Helper()
	rows, err := store.Pool().Query("SELECT * FROM " + table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	var out bytes.Buffer
	for rows.Next() {
		cells := make([]any, len(columns))
		for i := range cells {
			cells[i] = new(any)
		}
		if err := rows.Scan(cells...); err != nil {
			t.Fatal(err)
		}
		for _, cell := range cells {
			fmt.Fprintln(&out, *cell.(*any))
		}
	}
	return out.Bytes()
}
