package jobs_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/ledger/pgtest"
	"github.com/enrichd/enrichd/sinks"
)

// The environment that makes this test binary a process to be killed, and that
// sets how often that happens and on which database.
const (
	crashLedger = "ENRICHD_CRASH_LEDGER" // a path or a connection string
	crashVendor = "ENRICHD_CRASH_VENDOR" // the vendor's address
	crashFile   = "ENRICHD_CRASH_FILE"   // of the sink
	crashKills  = "ENRICHD_CRASH_KILLS"  // default 5
	crashOn     = "ENRICHD_CRASH_ON"     // sqlite, postgresql or both; default sqlite
)

// TestMain runs the process that is killed, or the tests.
func TestMain(m *testing.M) {
	if os.Getenv(crashLedger) != "" {
		if err := victim(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestCrash kills the process at random moments while leads come in and are
// worked, and then counts: no accepted lead is lost, none is delivered twice,
// and none was paid twice beyond the calls under way at a kill.
func TestCrash(t *testing.T) {
	kills := 5
	if text := os.Getenv(crashKills); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	on := os.Getenv(crashOn)
	if on == "" {
		on = "sqlite"
	}
	if on == "sqlite" || on == "both" {
		t.Run("sqlite", func(t *testing.T) { crashes(t, kills, filepath.Join(t.TempDir(), "enrichd.db")) })
	}
	if on == "postgresql" || on == "both" {
		t.Run("postgresql", func(t *testing.T) { crashes(t, kills, pgtest.Start(t).Database(t)) })
	}
}

// vendor counts what it was asked, and which calls it had not answered when it
// was last looked at.
type vendor struct {
	mu    sync.Mutex
	calls map[string]int
	open  map[string]bool
	torn  int // calls whose caller was killed
}

// ServeHTTP answers a look-up, in a few milliseconds.
func (v *vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	address := r.URL.Query().Get("lead")
	v.mu.Lock()
	v.calls[address]++
	v.open[address] = true
	v.mu.Unlock()
	select {
	case <-time.After(time.Duration(rand.IntN(8)) * time.Millisecond):
	case <-r.Context().Done():
	}
	fmt.Fprint(w, "Engineer")
}

func (v *vendor) written(address string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.open, address)
}

func crashes(t *testing.T, kills int, database string) {
	v := &vendor{calls: map[string]int{}, open: map[string]bool{}}
	mux := http.NewServeMux()
	mux.Handle("/find", v)
	mux.HandleFunc("/kept", func(_ http.ResponseWriter, r *http.Request) { v.written(r.URL.Query().Get("lead")) })
	server := httptest.NewServer(mux)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "out.ndjson")

	accepted := map[string]bool{}
	var slowest time.Duration
	for round := range kills {
		p := begin(t, database, server.URL, file, round)
		slowest = max(slowest, p.ready)
		p.read(accepted, time.Duration(300+rand.IntN(900))*time.Millisecond)
		p.kill()
		v.mu.Lock()
		v.torn += len(v.open)
		clear(v.open)
		v.mu.Unlock()
	}
	p := begin(t, database, server.URL, file, -1)
	slowest = max(slowest, p.ready)
	p.read(accepted, time.Hour) // until it has nothing left to do
	p.kill()

	store, err := ledger.Open(t.Context(), databaseConfig(database))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	delivered := readOperations(t, file)
	for id := range accepted {
		lead, err := store.Lead(t.Context(), id)
		if err != nil || lead.State != ledger.StateDone {
			t.Errorf("an accepted lead is %s, %v", lead.State, err)
		}
	}
	all, err := store.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	leads := 0 // those whose acceptance was not told any more are there too
	for _, count := range all {
		leads += int(count.Leads)
		if count.State != ledger.StateDone {
			t.Errorf("%d leads are %s", count.Leads, count.State)
		}
	}
	if len(delivered) != leads || leads < len(accepted) {
		t.Errorf("%d leads accepted, %d there, %d messages", len(accepted), leads, len(delivered))
	}
	if spent, err := store.Spent(t.Context(), time.Time{}); err != nil || len(spent) != 1 || int(spent[0].Calls) != leads || int(spent[0].Micros) != 30*leads {
		t.Errorf("charges of %d leads: %+v, %v", leads, spent, err)
	}
	calls, again := 0, 0
	for _, count := range v.calls {
		calls += count
		again += count - 1
	}
	if again > v.torn {
		t.Errorf("%d calls were made again, but only %d were under way at a kill", again, v.torn)
	}
	t.Logf("%d kills: %d leads accepted, %d delivered once each, %d vendor calls, %d of them again (%d under way at a kill), recovered within %s",
		kills, len(accepted), len(delivered), calls, again, v.torn, slowest.Round(time.Millisecond))
	if slowest > 30*time.Second {
		t.Errorf("a recovery took %s", slowest)
	}
}

func readOperations(t *testing.T, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for one := range strings.Lines(string(text)) {
		var l struct {
			Key string `json:"operation_key"`
		}
		if err := json.Unmarshal([]byte(one), &l); err != nil {
			t.Fatal(err)
		}
		if seen[l.Key] {
			t.Error("a message was delivered twice")
		}
		seen[l.Key] = true
	}
	return seen
}

// process is a running victim.
type process struct {
	cmd   *exec.Cmd
	lines chan string
	ready time.Duration // until it worked again on what was left behind
}

func begin(t *testing.T, database, vendor, file string, round int) *process {
	t.Helper()
	began := time.Now()
	cmd := exec.Command(os.Args[0], strconv.Itoa(round))
	cmd.Env = append(os.Environ(), crashLedger+"="+database, crashVendor+"="+vendor, crashFile+"="+file)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, lines: make(chan string, 10_000)}
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
	}()
	select {
	case first := <-p.lines:
		if first != "ready" {
			p.kill()
			t.Fatalf("the process said %q", first)
		}
	case <-time.After(time.Minute):
		p.kill()
		t.Fatal("the process does not get ready")
	}
	p.ready = time.Since(began)
	return p
}

// read notes the ids of accepted leads until the process ends or a time is over.
func (p *process) read(accepted map[string]bool, most time.Duration) {
	end := time.After(most)
	for {
		select {
		case id, more := <-p.lines:
			if !more {
				return
			}
			accepted[id] = true
		case <-end:
			return
		}
	}
}

func (p *process) kill() {
	p.cmd.Process.Signal(syscall.SIGKILL)
	for range p.lines { // what it said before it died was said
	}
	p.cmd.Wait()
}

func databaseConfig(database string) ledger.Config {
	if strings.HasPrefix(database, "postgres://") {
		return ledger.Config{PostgreSQL: database, Node: "victim"}
	}
	return ledger.Config{Path: database, Node: "victim"}
}

// victim accepts and works leads until it is killed; in the last round, named
// -1, it only works off what is there.
func victim() error {
	ctx := context.Background()
	store, err := ledger.Open(ctx, databaseConfig(os.Getenv(crashLedger)))
	if err != nil {
		return err
	}
	sink, err := sinks.NewFile(sinks.FileConfig{Name: "file", Path: os.Getenv(crashFile)})
	if err != nil {
		return err
	}
	normalizer, err := email.New(email.Config{})
	if err != nil {
		return err
	}
	engine, err := jobs.New(ctx, jobs.Config{}, jobs.Parts{Store: store, Enricher: &buyer{store: store, vendor: os.Getenv(crashVendor)},
		Normalizer: normalizer, Suppressions: enrich.NoSuppressions{}, Sinks: []sinks.Sink{sink},
		Account: func(name string) (enrich.Account, bool) { return enrich.Account{Name: name}, true },
		Log:     slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return err
	}
	if err := engine.Start(ctx); err != nil {
		return err
	}
	fmt.Println("ready")
	if os.Args[1] == "-1" {
		return drained(ctx, store)
	}
	broken := make(chan error)
	for _, lane := range enrich.Lanes {
		go func() { broken <- flood(ctx, engine, lane) }()
	}
	return <-broken
}

// flood hands in one lead after the other and says the id of each.
func flood(ctx context.Context, engine *jobs.Engine, lane enrich.Lane) error {
	for n := 0; ; n++ {
		results, err := engine.Submit(ctx, acme, jobs.Lead{Email: fmt.Sprintf("%s-%s-%d@lovelace.example", lane, os.Args[1], n), Lane: lane})
		if err != nil {
			return err
		}
		fmt.Println(results[0].Receipt.ID)
	}
}

// drained waits until every lead has ended and everything is delivered.
func drained(ctx context.Context, store *ledger.Store) error {
	for {
		open, err := store.Leads(ctx, ledger.Filter{States: []ledger.State{ledger.StateNone, ledger.StateProcessing}, Most: 1})
		if err != nil {
			return err
		}
		pending, err := store.PendingDeliveries(ctx, "", 1)
		if err != nil {
			return err
		}
		if len(open)+len(pending) == 0 {
			return nil
		}
		<-time.After(20 * time.Millisecond)
	}
}

// buyer buys at the vendor what the ledger has not kept, as the service does.
type buyer struct {
	store  *ledger.Store
	vendor string
}

// Enrich answers from what was kept, else from the vendor.
func (b *buyer) Enrich(ctx context.Context, request enrich.Request) (enrich.Answer, error) {
	address, err := email.Normalize(request.Email)
	if err != nil {
		return enrich.Answer{}, err
	}
	subject := b.store.SubjectKey(address.Key())
	kept, err := b.store.Answer(ctx, subject)
	if err != nil {
		return enrich.Answer{}, err
	}
	answer := enrich.Answer{Address: address, Completeness: enrich.Complete, Gaps: map[enrich.Attribute]enrich.Gap{}}
	if kept.IsEmpty() {
		title, err := b.get(ctx, "/find?lead="+request.ID)
		if err != nil {
			return enrich.Answer{}, &enrich.Error{Kind: enrich.Unavailable, Message: "the vendor is away", Cause: err}
		}
		kept = enrich.NewRecord(enrich.Fact{Attribute: "person.title", State: enrich.StateValue, Value: enrich.TextValue(title), Source: "vendor",
			FetchedAt: time.Now(), Confidence: 1, Price: 30})
		if err := b.store.KeepAnswer(ctx, subject, kept, time.Now().Add(time.Hour)); err != nil {
			return enrich.Answer{}, err
		}
		if _, err := b.get(ctx, "/kept?lead="+request.ID); err != nil {
			return enrich.Answer{}, err
		}
		answer.Attempts = []enrich.Attempt{{Provider: "vendor", Outcome: enrich.Hit, Charged: enrich.KnownCharge(30)}}
	}
	for _, fact := range kept.Facts() {
		answer.Found = answer.Found.With(enrich.Provenance{Fact: &fact})
	}
	return answer, nil
}

func (b *buyer) get(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.vendor+path, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}
