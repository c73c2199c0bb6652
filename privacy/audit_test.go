package privacy

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

func entryOf(t testing.TB, id string) enrich.AuditEntry {
	collected := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	return enrich.AuditEntry{
		At: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC), RequestID: id, Account: "sales", Purpose: "outreach",
		Consent: enrich.Consent{Basis: "legitimate_interest", Source: "web form", CollectedAt: collected},
		Person:  keyOf(t, "ada@orchard.example"), Company: companyOf(t, "orchard.example"),
		Wanted:  []enrich.Attribute{"person.title", "company.name"},
		Sources: map[enrich.Attribute]string{"person.title": "alpha"},
		Asked: []enrich.Attempt{
			{Provider: "alpha", Outcome: enrich.Hit, Charged: enrich.KnownCharge(1200)},
			{Provider: "bolt", Outcome: enrich.Timeout, Shared: true},
		},
		Cost: 1200, Outcome: "partial",
	}
}

func auditConfig(t testing.TB, audit AuditConfig) Config {
	if audit.File == "" {
		audit.File = filepath.Join(t.TempDir(), "audit.jsonl")
	}
	return Config{Pepper: pepper, Audit: audit}
}

func startAudit(t testing.TB, config Config) *Audit {
	t.Helper()
	audit, err := NewAudit(config, silent())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { audit.Close() })
	return audit
}

// lines returns the request ids in a file, which must be whole JSON lines.
func lines(t testing.TB, path string) (ids []string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		var line auditLine
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			t.Fatalf("%s: %q: %v", path, scanner.Text(), err)
		}
		ids = append(ids, line.RequestID)
	}
	return ids
}

func TestAnEntryIsOneLine(t *testing.T) {
	config := auditConfig(t, AuditConfig{})
	audit := startAudit(t, config)
	audit.Audit(entryOf(t, "r-1"))
	audit.Audit(enrich.AuditEntry{At: time.Unix(0, 0), Account: "sales", Outcome: "invalid"})
	audit.Close()
	text, err := os.ReadFile(config.Audit.File)
	if err != nil {
		t.Fatal(err)
	}
	tags := NewTagger(pepper)
	want := `{"at":"2026-05-04T10:00:00Z","request_id":"r-1","account":"sales","purpose":"outreach",` +
		`"consent":{"basis":"legitimate_interest","source":"web form","collected_at":"2026-03-01T09:00:00Z"},` +
		`"person":"` + tags.Tag(keyOf(t, "ada@orchard.example")).String() + `","company":"` + tags.Tag(companyOf(t, "orchard.example")).String() + `",` +
		`"wanted":["person.title","company.name"],"sources":{"person.title":"alpha"},` +
		`"asked":[{"provider":"alpha","outcome":"hit","charge_micros":1200},{"provider":"bolt","outcome":"timeout","shared":true}],` +
		`"cost_micros":1200,"outcome":"partial"}` + "\n" +
		`{"at":"1970-01-01T00:00:00Z","account":"sales","cost_micros":0,"outcome":"invalid"}` + "\n"
	if string(text) != want {
		t.Errorf("it says\n%s\nwant\n%s", text, want)
	}
	if stats := audit.Stats(); stats != (AuditStats{Written: 2}) {
		t.Errorf("it counts %+v", stats)
	}
}

// TestCallersWordsAreKeptWithCare: what callers may write freely could hold
// anything.
func TestCallersWordsAreKeptWithCare(t *testing.T) {
	config := auditConfig(t, AuditConfig{})
	audit := startAudit(t, config)
	entry := entryOf(t, "ada@orchard.example")
	entry.Purpose, entry.Consent.Basis = "ada%40orchard.example", strings.Repeat("ü", 10_000)
	entry.Consent.Source = "line\n{\"outcome\":\"forged\"}"
	audit.Audit(entry)
	audit.Close()
	text, err := os.ReadFile(config.Audit.File)
	if err != nil || strings.Contains(string(text), "orchard") || strings.Count(string(text), "\n") != 1 || len(text) > 1500 {
		t.Errorf("%v: %s", err, text)
	}
}

func TestPartsBySizeAndAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := auditConfig(t, AuditConfig{MaxBytes: 2000, MaxAge: time.Hour, Keep: 3, KeepFor: 48 * time.Hour})
		audit := startAudit(t, config)
		older := func() []string {
			found, err := filepath.Glob(filepath.Join(filepath.Dir(config.Audit.File), "audit-*.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		foreign := filepath.Join(filepath.Dir(config.Audit.File), "audit-notes.jsonl")
		if err := os.WriteFile(foreign, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		send := func(id string) {
			entry := entryOf(t, id)
			entry.At = time.Now()
			audit.Audit(entry)
			synctest.Wait()
		}
		send("1")
		time.Sleep(59 * time.Minute)
		send("2")
		if len(older()) != 1 { // the notes
			t.Fatalf("ended early: %v", older())
		}
		time.Sleep(time.Minute)
		send("3")
		if parts := older(); len(parts) != 2 || len(lines(t, parts[0])) != 2 || len(lines(t, config.Audit.File)) != 1 {
			t.Fatalf("not ended after an hour: %v", parts)
		}
		for i := range 12 { // two and a bit fit into a part
			send(fmt.Sprint(4 + i))
			time.Sleep(time.Second)
		}
		parts := older()
		if len(parts) != 4 {
			t.Errorf("%d older parts, want 3 and the notes: %v", len(parts)-1, parts)
		}
		for _, part := range parts {
			if info, err := os.Stat(part); err != nil || info.Size() > 2000 {
				t.Errorf("%s has %d bytes, %v", part, info.Size(), err)
			}
		}
		if ids := lines(t, config.Audit.File); ids[len(ids)-1] != "15" {
			t.Errorf("the last entry is %v", ids)
		}
		time.Sleep(50 * time.Hour) // nobody asks, and time passes
		if parts := older(); len(parts) != 1 || parts[0] != foreign {
			t.Errorf("still kept: %v", parts)
		}
	})
}

// TestAnotherProcessGoesOn begins where a crash cut a line off.
func TestAnotherProcessGoesOn(t *testing.T) {
	config := auditConfig(t, AuditConfig{})
	first := startAudit(t, config)
	first.Audit(entryOf(t, "1"))
	first.Close()
	file, err := os.OpenFile(config.Audit.File, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(`{"at":"2026-`); err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	second := startAudit(t, config)
	second.Audit(entryOf(t, "2")) // it began months ago, so this is a new part
	second.Close()
	if ids := lines(t, config.Audit.File); len(ids) != 1 || ids[0] != "2" {
		t.Errorf("the new part has %v", ids)
	}
	parts, err := filepath.Glob(filepath.Join(filepath.Dir(config.Audit.File), "audit-*.jsonl"))
	if err != nil || len(parts) != 1 {
		t.Fatalf("%v, %v", parts, err)
	}
	if text, err := os.ReadFile(parts[0]); err != nil || !strings.HasSuffix(string(text), "}\n{\"at\":\"2026-\n") {
		t.Errorf("the older part ends %q, %v", text, err)
	}
}

// TestADiskThatIsAway: one warning, everything counted, nobody waits, and it goes
// on when the disk is back.
func TestADiskThatIsAway(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "mount")
	config := auditConfig(t, AuditConfig{File: filepath.Join(folder, "audit.jsonl")})
	var log logged
	audit, err := NewAudit(config, log.logger())
	if err != nil {
		t.Fatal(err)
	}
	defer audit.Close()
	for i := range 5 {
		audit.Audit(entryOf(t, fmt.Sprint(i)))
		eventually(t, "it is counted", func() bool { return audit.Stats().Dropped == int64(i+1) })
	}
	if strings.Count(log.String(), "level=ERROR") != 1 {
		t.Errorf("it says\n%s", &log)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	audit.Audit(entryOf(t, "back"))
	eventually(t, "it is written", func() bool { return audit.Stats().Written == 1 })
	if ids := lines(t, config.Audit.File); len(ids) != 1 || ids[0] != "back" || !strings.Contains(log.String(), "written again") {
		t.Errorf("the file has %v, the log\n%s", ids, &log)
	}
}

// TestAFullDisk writes into a file that takes nothing.
func TestAFullDisk(t *testing.T) {
	config := auditConfig(t, AuditConfig{})
	audit := startAudit(t, config)
	audit.Audit(entryOf(t, "1"))
	eventually(t, "the first is written", func() bool { return audit.Stats().Written == 1 })
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	_ = audit.parts.file.Close()
	audit.parts.file = full // the writer waits for an entry
	audit.Audit(entryOf(t, "2"))
	eventually(t, "the second is counted", func() bool { return audit.Stats().Dropped == 1 })
	audit.Audit(entryOf(t, "3"))
	eventually(t, "the third is written", func() bool { return audit.Stats().Written == 2 })
	audit.Close()
	if ids := lines(t, config.Audit.File); ids[len(ids)-1] != "3" {
		t.Errorf("the file ends with %v", ids)
	}
}

// TestAFullQueue holds the writer up: nobody waits for it.
func TestAFullQueue(t *testing.T) {
	audit := &Audit{tags: NewTagger(pepper), log: silent(), queue: make(chan any, 2)}
	for range 5 {
		audit.Audit(entryOf(t, "x"))
	}
	if stats := audit.Stats(); stats.Dropped != 3 {
		t.Errorf("%+v, want 3 dropped", stats)
	}
}

func TestCloseWritesWhatWaits(t *testing.T) {
	config := auditConfig(t, AuditConfig{Queue: 10_000})
	audit := startAudit(t, config)
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for range 500 {
				audit.Audit(entryOf(t, "x"))
			}
		})
	}
	asking.Wait()
	if err := audit.Close(); err != nil {
		t.Fatal(err)
	}
	audit.Audit(entryOf(t, "late"))
	if stats := audit.Stats(); stats != (AuditStats{Written: 2000, Dropped: 1}) {
		t.Errorf("it counts %+v", stats)
	}
	parts, err := filepath.Glob(filepath.Join(filepath.Dir(config.Audit.File), "*"))
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, part := range parts {
		total += len(lines(t, part))
	}
	if total != 2000 {
		t.Errorf("%d lines of 2000", total)
	}
}

func TestAnAuditNeedsAFile(t *testing.T) {
	if _, err := NewAudit(Config{Pepper: pepper}, silent()); err == nil {
		t.Error("there is a log without a file")
	}
	if _, err := NewAudit(Config{Audit: AuditConfig{File: "x"}}, silent()); err == nil {
		t.Error("there is a log without a pepper")
	}
	if tag := NewTagger(pepper).Tag(email.Key{}); tag != (Tag{}) {
		t.Errorf("nobody has the tag %s", tag)
	}
}

// BenchmarkAudit is what a request pays. The queue is emptied beside it.
func BenchmarkAudit(b *testing.B) {
	audit := startAudit(b, auditConfig(b, AuditConfig{}))
	entry := entryOf(b, "r")
	b.ReportAllocs()
	for b.Loop() {
		audit.Audit(entry)
	}
}
