package privacy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/cache/redistest"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

func TestAnErasure(t *testing.T) {
	config := auditConfig(t, AuditConfig{})
	config.Suppression.File = filepath.Join(t.TempDir(), "list")
	list, audit := startList(t, config), startAudit(t, config)
	ada := keyOf(t, "ada@orchard.example")
	held := 3
	var log logged
	var disk error = errors.New("the disk is away")
	eraser := &Eraser{Tags: NewTagger(pepper), Suppressions: list, Audit: audit, Log: log.logger(), Places: []Place{
		{Name: "cache", Erase: func(_ context.Context, key email.Key) (int, error) {
			if !suppressed(t, list, key) {
				t.Error("dropped before it is suppressed")
			}
			dropped := held
			held = 0
			return dropped, nil
		}},
		{Name: "ledger", Erase: func(context.Context, email.Key) (int, error) { return 7, disk }},
		{Name: "panicky", Erase: func(context.Context, email.Key) (int, error) {
			if disk != nil {
				panic("out of order")
			}
			return -1, nil
		}},
	}}
	proof, err := eraser.Erase(t.Context(), ada)
	if err != nil {
		t.Fatal(err)
	}
	want := []enrich.Dropped{{Place: "cache", Entries: 3, Done: true}, {Place: "ledger"}, {Place: "panicky"}}
	for i, dropped := range proof.Dropped {
		if dropped != want[i] {
			t.Errorf("%+v, want %+v", dropped, want[i])
		}
	}
	if proof.Complete() || !proof.Suppressed || proof.Subject != NewTagger(pepper).Tag(ada).String() {
		t.Errorf("the proof is %+v", proof)
	}
	if strings.Count(log.String(), "not complete") != 2 {
		t.Errorf("the log says\n%s", &log)
	}

	disk = nil
	again, err := eraser.Erase(t.Context(), ada)
	if err != nil || !again.Complete() || again.Dropped[0].Entries != 0 || again.Dropped[2].Entries != -1 || list.Len() != 1 {
		t.Errorf("again: %+v, %v", again, err)
	}
	tags := NewTagger(pepper)
	if !tags.Verify(proof) || !tags.Verify(again) || NewTagger("another pepper").Verify(proof) {
		t.Error("the seals do not fit")
	}
	proof.Dropped[1].Done = true
	if tags.Verify(proof) {
		t.Error("a changed proof has a good seal")
	}
	for _, was := range []bool{true, false} {
		if done, err := eraser.Lift(t.Context(), ada); err != nil || done != (enrich.Lifted{Subject: proof.Subject, Was: was, Everywhere: true}) || suppressed(t, list, ada) {
			t.Errorf("lifted: %+v, %v", done, err)
		}
	}
	audit.Close()
	text, err := os.ReadFile(config.Audit.File)
	if err != nil || strings.Count(string(text), `"outcome":"erasure"`) != 2 || strings.Count(string(text), `"outcome":"suppression_lifted"`) != 1 || !strings.Contains(string(text), again.Seal) {
		t.Errorf("the audit log has %v\n%s", err, text)
	}
}

// TestNothingIsDroppedUnsuppressed: what is dropped before it is suppressed
// comes back.
func TestNothingIsDroppedUnsuppressed(t *testing.T) {
	list := startList(t, Config{Suppression: SuppressionConfig{MaxEntries: 1}})
	add(t, list, keyOf(t, "bob@orchard.example"))
	eraser := &Eraser{Tags: NewTagger(pepper), Suppressions: list, Log: silent(), Places: []Place{
		{Name: "cache", Erase: func(context.Context, email.Key) (int, error) {
			t.Error("dropped")
			return 0, nil
		}},
	}}
	if _, err := eraser.Erase(t.Context(), keyOf(t, "ada@orchard.example")); !errors.Is(err, errFull) {
		t.Errorf("it ends with %v", err)
	}
}

// TestLiftsThatHoldAreInTheLog, though they could be kept nowhere.
func TestLiftsThatHoldAreInTheLog(t *testing.T) {
	server := redistest.Start(t)
	config := Config{Pepper: pepper, Redis: redisOf(server), Audit: AuditConfig{File: filepath.Join(t.TempDir(), "audit.jsonl")}}
	list := startList(t, config)
	ada := keyOf(t, "ada@orchard.example")
	add(t, list, ada)
	audit := startAudit(t, config)
	eraser := &Eraser{Tags: NewTagger(pepper), Suppressions: list, Audit: audit, Log: silent()}
	server.Kill()
	for range 2 {
		if done, err := eraser.Lift(t.Context(), ada); !errors.Is(err, errNotKept) || done != (enrich.Lifted{}) || suppressed(t, list, ada) {
			t.Errorf("lifted: %+v, %v", done, err)
		}
	}
	audit.Close()
	text, err := os.ReadFile(config.Audit.File)
	if err != nil || strings.Count(string(text), `"outcome":"suppression_lifted"`) != 1 {
		t.Errorf("the audit log has %v\n%s", err, text)
	}
}

// TestProofsOfThePastAreGood: the seal is over the words of an erasure in their
// order, which therefore stay.
func TestProofsOfThePastAreGood(t *testing.T) {
	const line = `{"at":"2026-11-30T12:00:00.00025Z","outcome":"erasure","subject":"h1:5d0f2c8e7b9a43d1a6c4e2f8b0937d15","suppressed":true,"dropped":[{"Place":"cache","Entries":2,"Done":true},{"Place":"idempotency","Entries":-1,"Done":false}],"seal":"a981f6b98db6a0446e87a0035235e94799566de0ad9b97e3a5dc82745b7a71eb"}`
	proof, found, err := ReadProof([]byte(line))
	if err != nil || !found || !NewTagger("a pepper of the year 2026").Verify(proof) {
		t.Errorf("%+v, %v, %v", proof, found, err)
	}
}
