package intake_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/intake"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
)

const (
	importRows    = "ENRICHD_IMPORT_ROWS" // default 2000
	mostHeapBytes = 200 << 20             // however many rows
)

// moody is a vendor with brownouts: of every thousand calls a few hundred fail,
// or find all quotas used up, and a few are refused for good.
type moody struct{ calls, bad atomic.Int64 }

// Enrich answers by what is asked and by how many calls there were.
func (m *moody) Enrich(_ context.Context, request enrich.Request) (enrich.Answer, error) {
	call := m.calls.Add(1)
	if m.bad.CompareAndSwap(40, 0) { // at most so many in a row, so that all brownouts end
		call = 0
	}
	switch phase := call % 1000; {
	case phase >= 400 && phase < 460:
		m.bad.Add(1)
		return enrich.Answer{}, &enrich.Error{Kind: enrich.Unavailable, Message: "brownout"}
	case phase == 700:
		return enrich.Answer{}, &enrich.Error{Kind: enrich.Throttled, Message: "used up", ReadyAt: time.Now().Add(time.Second)}
	case phase == 800:
		return enrich.Answer{}, &enrich.Error{Kind: enrich.Rejected, Message: "refused"}
	}
	address, err := email.Normalize(request.Email)
	if err != nil {
		return enrich.Answer{}, err
	}
	answer := enrich.Answer{Address: address, Completeness: enrich.Complete,
		Gaps: map[enrich.Attribute]enrich.Gap{}, Attempts: []enrich.Attempt{{Provider: "vendor", Outcome: enrich.Hit, Charged: enrich.KnownCharge(30)}}}
	switch call % 5 {
	case 0:
		answer.Completeness = enrich.NotFound
		return answer, nil
	case 1:
		answer.Completeness = enrich.PartlyFound
		answer.Gaps["person.seniority"] = enrich.Gap{Kind: enrich.GapAbsent, Reason: enrich.ReasonAbsent}
	}
	answer.Found = enrich.Findings{{Fact: &enrich.Fact{Attribute: "person.title", State: enrich.StateValue,
		Value: enrich.TextValue("Engineer"), Source: "vendor", FetchedAt: time.Now(), Confidence: 1, Price: 30}}}
	return answer, nil
}

// messy writes a file of which every tenth row cannot be read and every seventh
// repeats one before it.
func messy(t *testing.T, count int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "messy.csv")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	fmt.Fprint(file, "\ufeffName;E-Mail;Note\r\n")
	for n := range count {
		switch {
		case n%10 == 3:
			fmt.Fprint(file, []string{";nobody;\r\n", "ragged\r\n", ";=HYPERLINK(1);x\r\n", ";;\r\n"}[n/10%4])
		case n%7 == 0 && n > 0:
			fmt.Fprintf(file, "again; A%d@Lovelace.example ;\"a \"\"quoted\"\" note\"\r\n", n-1)
		default:
			fmt.Fprintf(file, "Ada %d;a%d@lovelace.example;x\r\n", n, n)
		}
	}
	return path
}

// TestImportRun imports a messy file and works it off through vendors with
// brownouts: every row ends in a state, and the figures add up.
func TestImportRun(t *testing.T) {
	count := 2000
	if text := os.Getenv(importRows); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	vendor := &moody{}
	store, engine := open(t, func(parts *jobs.Parts) {
		parts.Enricher = vendor
		parts.Account = func(name string) (enrich.Account, bool) { return enrich.Account{Name: name}, true }
	})
	if err := engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer engine.Stop(context.Background())
	file, err := os.Open(messy(t, count))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	began := time.Now()
	imported, err := (&intake.Importer{Store: store, Acceptor: engine}).Import(t.Context(), acme, file, intake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	accepted := time.Since(began)
	if imported.Accepted+imported.Repeated+imported.Refused != int64(count) || imported.Refused != int64((count+6)/10) {
		t.Errorf("of %d rows: %+v", count, imported)
	}
	ends, heap := workOff(t, store)
	sum := ends[ledger.StateDone] + ends[ledger.StatePartial] + ends[ledger.StateNotFound] + ends[ledger.StateError]
	if sum != imported.Accepted {
		t.Errorf("%d leads accepted, %d ended: %v", imported.Accepted, sum, ends)
	}
	dead, err := store.CountDead(t.Context(), ledger.DeadFilter{})
	if err != nil {
		t.Fatal(err)
	}
	letters := int64(0)
	for _, one := range dead {
		letters += one.Letters
	}
	if letters != ends[ledger.StateError] || letters == 0 {
		t.Errorf("%d dead letters for %d leads in error", letters, ends[ledger.StateError])
	}
	spent, err := store.Spent(t.Context(), time.Time{})
	if answered := sum - ends[ledger.StateError]; err != nil || len(spent) != 1 || spent[0].Calls != answered || int64(spent[0].Micros) != 30*answered {
		t.Errorf("charges of %d answers: %+v, %v", answered, spent, err)
	}
	if heap > mostHeapBytes {
		t.Errorf("the heap grew to %d MiB", heap>>20)
	}
	t.Logf("%d rows read in %s: %d accepted, %d repeated, %d refused; worked off after %s with %d calls: %v; heap at most %d MiB", count,
		accepted.Round(time.Millisecond), imported.Accepted, imported.Repeated, imported.Refused, time.Since(began).Round(time.Second), vendor.calls.Load(), ends, heap>>20)
}

// workOff waits until no lead is open, and returns how they ended and the most
// that the heap held.
func workOff(t *testing.T, store *ledger.Store) (ends map[ledger.State]int64, heap uint64) {
	t.Helper()
	for {
		counts, err := store.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ends = map[ledger.State]int64{}
		open := int64(0)
		for _, count := range counts {
			ends[count.State] += count.Leads
			if !count.State.Ended() {
				open += count.Leads
			}
		}
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		if heap = max(heap, memory.HeapAlloc); open == 0 {
			return ends, heap
		}
		<-time.After(100 * time.Millisecond)
	}
}
