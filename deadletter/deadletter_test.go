package deadletter_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/deadletter"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
)

// desk notes what was put into the queue again.
type desk struct {
	leads      map[string]enrich.Lane
	deliveries []string
	objected   string // the address that did
	report     string
}

// ResubmitLead notes a lead.
func (d *desk) ResubmitLead(_ context.Context, _ *sql.Tx, id string, lane enrich.Lane) error {
	d.leads[id] = lane
	return nil
}

// ResubmitDelivery notes a delivery.
func (d *desk) ResubmitDelivery(_ context.Context, _ *sql.Tx, id string) error {
	d.deliveries = append(d.deliveries, id)
	return nil
}

// Objected tells whether it is the address that did.
func (d *desk) Objected(lead ledger.Lead) (bool, error) { return lead.Address == d.objected, nil }

// Control returns the report.
func (d *desk) Control(context.Context, ledger.Lead) ([]byte, error) { return []byte(d.report), nil }

func open(t *testing.T) (*deadletter.Inbox, *desk) {
	t.Helper()
	store, err := ledger.Open(t.Context(), ledger.Config{Path: filepath.Join(t.TempDir(), "enrichd.db"), Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	d := &desk{leads: map[string]enrich.Lane{}}
	return &deadletter.Inbox{Store: store, Queue: d, Deadline: time.Hour}, d
}

// bury makes dead letters of leads of one reason and returns the leads' ids.
func bury(t *testing.T, inbox *deadletter.Inbox, reason string, addresses ...string) (ids []string) {
	t.Helper()
	store := inbox.Store
	for _, address := range addresses {
		err := store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			receipts, err := store.Accept(ctx, tx, "acme", []ledger.Submission{{Key: address, Subject: address, Address: address,
				Lane: enrich.Standard, Want: ledger.Want{All: true}, Deadline: time.Now().Add(time.Hour)}})
			ids = append(ids, receipts[0].ID)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		lead, err := store.Claim(t.Context(), ids[len(ids)-1], enrich.Standard, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		err = store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			if _, err := store.End(ctx, tx, ledger.Ending{Lead: lead, State: ledger.StateError, Reason: reason, Result: []byte(`{"facts":{"person.title":{"value":"Engineer","source":"a"}},"gaps":{"person.phone":"absent"}}`)}); err != nil {
				return err
			}
			return store.Bury(ctx, tx, ledger.DeadLetter{Kind: ledger.DeadLead, Target: lead.ID, Lead: lead.ID, Account: "acme",
				Subject: address, Lane: lead.Lane, Reason: reason, Attempts: 3})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

func replay(t *testing.T, inbox *deadletter.Inbox, filter ledger.DeadFilter, how deadletter.Replay) (done []string, refused map[string]string) {
	t.Helper()
	<-time.After(2 * time.Millisecond) // letters of this very millisecond are not replayed
	refused = map[string]string{}
	err := inbox.Replay(t.Context(), filter, how, func(result deadletter.Result) error {
		if result.Refused != "" {
			refused[result.Target] = result.Refused
		} else {
			done = append(done, result.Target)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return done, refused
}

func TestReplay(t *testing.T) {
	inbox, desk := open(t)
	ids := bury(t, inbox, "unavailable", "a@lovelace.example", "b@lovelace.example", "c@lovelace.example", "d@lovelace.example")
	other := bury(t, inbox, "rejected", "e@lovelace.example")
	desk.objected = "b@lovelace.example"
	if _, err := inbox.Store.EraseSubject(t.Context(), "d@lovelace.example"); err != nil {
		t.Fatal(err)
	}
	err := inbox.Store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error { // somebody was faster
		return inbox.Store.Reopen(ctx, tx, ids[2], enrich.Standard, time.Now().Add(time.Hour))
	})
	if err != nil {
		t.Fatal(err)
	}
	filter := ledger.DeadFilter{Reason: "unavailable"}
	done, refused := replay(t, inbox, filter, deadletter.Replay{DryRun: true})
	if len(done) != 1 || refused[ids[1]] != "suppressed" || refused[ids[2]] != "live" {
		t.Errorf("a dry run says %v, refused %v", done, refused)
	}
	if lead, err := inbox.Store.Lead(t.Context(), ids[0]); err != nil || lead.State != ledger.StateError {
		t.Errorf("a dry run changed the lead: %s, %v", lead.State, err)
	}
	desk.leads = map[string]enrich.Lane{}
	done, _ = replay(t, inbox, filter, deadletter.Replay{Lane: enrich.Bulk, Rate: 1000})
	if len(done) != 1 || desk.leads[ids[0]] != enrich.Bulk || len(desk.leads) != 1 {
		t.Errorf("replayed %v, queued %v", done, desk.leads)
	}
	lead, err := inbox.Store.Lead(t.Context(), ids[0])
	if err != nil || lead.State != ledger.StateNone || lead.Attempts != 0 || lead.Key != "a@lovelace.example" || lead.Lane != enrich.Bulk {
		t.Errorf("the lead is %+v, %v", lead, err)
	}
	if again, _ := replay(t, inbox, filter, deadletter.Replay{}); len(again) != 0 {
		t.Errorf("replayed twice: %v", again)
	}
	counts, err := inbox.Count(t.Context(), ledger.DeadFilter{})
	if err != nil || len(counts) != 2 {
		t.Errorf("left: %+v, %v", counts, err)
	}
	if letters, err := inbox.List(t.Context(), ledger.DeadFilter{Reason: "rejected"}); err != nil || len(letters) != 1 || letters[0].Target != other[0] {
		t.Errorf("another reason's: %+v, %v", letters, err)
	}
}

func TestReplayOfADelivery(t *testing.T) {
	inbox, desk := open(t)
	store := inbox.Store
	lead := bury(t, inbox, "rejected", "a@lovelace.example")[0]
	err := store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		d := ledger.Delivery{ID: "d", Lead: lead, Account: "acme", Subject: "s", Sink: "hook", OperationKey: "op", CreatedAt: time.Now(), Payload: []byte("{}")}
		if _, err := store.Post(ctx, tx, d); err != nil {
			return err
		}
		if _, err := store.EndDeliveries(ctx, tx, ledger.DeliveryEnd{Delivery: d, State: ledger.DeliveryError, Reason: "status_503"}); err != nil {
			return err
		}
		return store.Bury(ctx, tx, ledger.DeadLetter{Kind: ledger.DeadDelivery, Target: "d", Lead: lead, Reason: ledger.DeadSinkFailing})
	})
	if err != nil {
		t.Fatal(err)
	}
	done, refused := replay(t, inbox, ledger.DeadFilter{Kind: ledger.DeadDelivery}, deadletter.Replay{})
	if len(done) != 1 || len(desk.deliveries) != 1 || len(desk.leads) != 0 {
		t.Errorf("replayed %v, refused %v, queued %v and leads %v", done, refused, desk.deliveries, desk.leads)
	}
}

func TestCompareShowsBothSides(t *testing.T) {
	inbox, desk := open(t)
	id := bury(t, inbox, "rejected", "a@lovelace.example")[0]
	desk.report = `{"facts":{"person.title":{"value":"Countess","source":"b"},"person.phone":{"value":"+1","source":"b"}},"gaps":{"person.city":"absent"}}`
	differences, err := deadletter.Compare(t.Context(), inbox.Store, desk, id)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, d := range differences {
		told = append(told, string(d.Attribute)+": "+string(d.Old.Value)+d.Old.Gap+" -> "+string(d.New.Value)+d.New.Gap)
	}
	want := `person.city:  -> absent, person.phone: absent -> "+1", person.title: "Engineer" -> "Countess"`
	if got := strings.Join(told, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	same, err := deadletter.Differences([]byte(desk.report), []byte(desk.report))
	if err != nil || len(same) != 3 {
		t.Fatal(same, err)
	}
	for _, d := range same {
		if !d.Same {
			t.Errorf("%s differs from itself", d.Attribute)
		}
	}
}

func TestDigestHasALineForEachReason(t *testing.T) {
	inbox, _ := open(t)
	if digest, err := inbox.MakeDigest(t.Context(), time.Now(), time.Hour, time.Hour); err != nil || digest != nil {
		t.Errorf("nothing to tell: %+v, %v", digest, err)
	}
	bury(t, inbox, "unavailable", "a@lovelace.example", "b@lovelace.example")
	ids := bury(t, inbox, "rejected", "c@lovelace.example")
	err := inbox.Store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return inbox.Store.Reopen(ctx, tx, ids[0], enrich.Standard, time.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := inbox.MakeDigest(t.Context(), time.Now().Add(2*time.Hour), time.Hour, time.Hour)
	if err != nil || digest == nil || len(digest.Lines) != 3 || !strings.HasPrefix(digest.Lines[0].Text, "1 × waiting, oldest since 2") ||
		!strings.HasPrefix(digest.Lines[1].Text, "2 × unavailable") {
		t.Errorf("%+v, %v", digest, err)
	}
}

func TestEveryReasonHasAClass(t *testing.T) {
	for _, kind := range enrich.ErrorKinds {
		if kind == enrich.Unauthenticated { // nobody is let in who could be given up so
			continue
		}
		if class := deadletter.Reasons[string(kind)]; class.Meaning == "" || class.Remedy == "" {
			t.Errorf("%s has no class", kind)
		}
	}
}
