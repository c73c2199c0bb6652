package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// stoppable is the whole program with a store and a file of switches, run from a
// configuration that can change.
type stoppable struct {
	t      *testing.T
	file   string
	common string
	*accepting
}

func startStoppable(t *testing.T, more string) *stoppable {
	t.Helper()
	_, vendors := startVendors(t)
	folder := t.TempDir()
	s := &stoppable{t: t, file: filepath.Join(folder, "enrichd.yaml"), common: fmt.Sprintf(`
server: {grpc: "127.0.0.1:0", http: "127.0.0.1:0"}
telemetry: {admin: "127.0.0.1:0"}
store: {path: "%s"}
providers: {list: [{definition: %s, base_url: "%s", allow_private: true, credentials: {api_key: k}}]}
`, filepath.Join(folder, "leads.db"), primary, vendors+"/"+primary) + more}
	s.common = strings.ReplaceAll(s.common, "FOLDER", folder)
	s.write("")
	s.run()
	return s
}

func (s *stoppable) write(more string) {
	s.t.Helper()
	if err := os.WriteFile(s.file, []byte(s.common+more), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// run starts the program, anew when it ran before.
func (s *stoppable) run() {
	s.t.Helper()
	if s.accepting != nil {
		s.stop()
	}
	program := follow(s.t, s.file, Options{File: s.file})
	conn, err := grpc.NewClient(program.app.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	s.accepting = &accepting{running: program, leads: enrichv1.NewLeadServiceClient(conn), work: enrichv1.NewLeadAdminServiceClient(conn), admin: enrichv1.NewAdminServiceClient(conn)}
}

// stops are the reasons of what is stopped, each with what.
func (s *stoppable) stops() string {
	s.t.Helper()
	work, err := s.work.GetWork(s.t.Context(), &enrichv1.GetWorkRequest{})
	if err != nil {
		s.t.Fatal(err)
	}
	var all []string
	for _, stop := range work.GetStops() {
		all = append(all, strings.TrimSpace(strings.ToLower(strings.TrimPrefix(stop.GetScope().String(), "WORK_SCOPE_"))+" "+stop.GetName())+": "+stop.GetReason())
	}
	return strings.Join(all, ", ")
}

// waits tells whether a lead is still not worked after some time.
func (s *stoppable) waits(id string) bool {
	s.t.Helper()
	select {
	case <-time.After(time.Second): // two looks at the switches
	case <-s.t.Context().Done():
	}
	return s.lead(s.t, id).GetState() == enrichv1.LeadState_LEAD_STATE_NONE
}

const byVendors = "lane interactive: %[1]s, lane standard: %[1]s, lane bulk: %[1]s"

// TestSwitchesAndPausesAreKeptApart stops accepted work as an operator, by a
// switch of vendor calls, and by the configuration: none takes back another, and
// all survive.
func TestSwitchesAndPausesAreKeptApart(t *testing.T) {
	s := startStoppable(t, "")
	kept := strings.Replace(s.common, "telemetry:", `quota: {state_file: "`+filepath.Join(filepath.Dir(s.file), "quota")+`"%s}`+"\ntelemetry:", 1)
	configure := func(stopped string) {
		s.common = fmt.Sprintf(kept, stopped)
		s.write("")
	}
	configure(", stopped: {all: true}")
	s.run()
	byConfiguration, bySwitch := fmt.Sprintf(byVendors, "configuration"), fmt.Sprintf(byVendors, "switch")
	id := s.submit(t, "jane.doe@acme.example").GetId()
	if !s.waits(id) || s.stops() != byConfiguration {
		t.Errorf("stopped by the configuration: %v", s.stops())
	}
	if _, err := s.work.PauseWork(t.Context(), &enrichv1.PauseWorkRequest{Scope: enrichv1.WorkScope_WORK_SCOPE_ALL}); err != nil {
		t.Fatal(err)
	}
	configure("")
	s.again <- os.Interrupt // it is read again
	waitFor(t, "the configuration lets go", func() bool { return s.stops() == "all: operator" })
	s.set(true)
	if s.run(); !s.waits(id) || s.stops() != "all: operator, "+bySwitch {
		t.Errorf("after a restart: %s", s.stops())
	}
	if s.set(false); !s.waits(id) || s.stops() != "all: operator" {
		t.Errorf("the switch is taken back: %s", s.stops())
	}
	s.set(true)
	if _, err := s.work.ResumeWork(t.Context(), &enrichv1.ResumeWorkRequest{Scope: enrichv1.WorkScope_WORK_SCOPE_ALL}); err != nil {
		t.Fatal(err)
	}
	if !s.waits(id) || s.stops() != bySwitch {
		t.Errorf("the operator resumes: %s", s.stops())
	}
	s.set(false)
	waitFor(t, "the lead is done", func() bool { return found(s.lead(t, id)) })
}

// set throws the switch of all vendor calls, or takes it back.
func (s *stoppable) set(off bool) {
	s.t.Helper()
	if _, err := s.admin.SetSwitch(s.t.Context(), &enrichv1.SetSwitchRequest{Scope: enrichv1.SwitchScope_SWITCH_SCOPE_VENDORS, Off: off}); err != nil {
		s.t.Fatal(err)
	}
}

// TestLeadsWaitForAProviderThatAPersonClosed pauses and switches off the only
// provider: its leads wait and do not fail.
func TestLeadsWaitForAProviderThatAPersonClosed(t *testing.T) {
	s := startStoppable(t, "")
	for name, turn := range map[string]func(closed bool) error{
		"paused": func(closed bool) (err error) {
			if _, err = s.admin.PauseProvider(t.Context(), &enrichv1.PauseProviderRequest{Provider: primary}); !closed {
				_, err = s.admin.ResumeProvider(t.Context(), &enrichv1.ResumeProviderRequest{Provider: primary})
			}
			return err
		},
		"switched off": func(closed bool) error {
			_, err := s.admin.SetSwitch(t.Context(), &enrichv1.SetSwitchRequest{Scope: enrichv1.SwitchScope_SWITCH_SCOPE_PROVIDER, Name: primary, Off: closed})
			return err
		},
	} {
		if err := turn(true); err != nil {
			t.Fatal(err)
		}
		id := s.submit(t, strings.ReplaceAll(name, " ", ".")+"@"+strings.ReplaceAll(name, " ", "-")+".example").GetId()
		waitFor(t, "the lead was tried", func() bool { return s.lead(t, id).GetReason() != "" })
		if lead := s.lead(t, id); lead.GetState() != enrichv1.LeadState_LEAD_STATE_NONE {
			t.Errorf("while it is %s: %v", name, lead)
		}
		if err := turn(false); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMetricsAndDigestTellOfAcceptedWork has a lead wait for longer than is good.
func TestMetricsAndDigestTellOfAcceptedWork(t *testing.T) {
	digests := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var digest struct{ Type string }
		if json.Unmarshal(body, &digest) != nil || digest.Type != "digest" || r.Header.Get("Webhook-Signature") == "" {
			t.Errorf("the digest is %s", body)
		}
		digests <- string(body)
	}))
	t.Cleanup(receiver.Close)
	s := startStoppable(t, `
sinks: {files: [{name: archive, path: "FOLDER/results.ndjson"}]}
`)
	if _, err := s.work.PauseWork(t.Context(), &enrichv1.PauseWorkRequest{Scope: enrichv1.WorkScope_WORK_SCOPE_LANE, Name: "standard"}); err != nil {
		t.Fatal(err)
	}
	s.submit(t, "jane.doe@acme.example")
	s.write(fmt.Sprintf(`digest: {url: "%s", allow_private: true, secrets: [whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw], at: "00:00", waits: 1ms, open: 1ms}`, receiver.URL))
	s.run()
	select {
	case digest := <-digests:
		if !strings.Contains(digest, `1 × waiting`) || strings.Contains(digest, "jane") {
			t.Errorf("the digest is %s", digest)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("no digest was sent")
	}
	s.run() // and no second one
	waitFor(t, "accepted work is measured", func() bool { return strings.Contains(s.metrics(), "enrichd_leads{") })
	for _, want := range []string{
		"enrichd_store_up 1", `enrichd_leads{lane="standard",state="none"} 1`, `enrichd_leads{lane="bulk",state="error"} 0`, `enrichd_deliveries_waiting{sink="archive"} 0`,
		`enrichd_work_stopped{name="standard",reason="operator",scope="lane"} 1`, `enrichd_lead_oldest_waiting_seconds{lane="standard"} `,
	} {
		if said := s.metrics(); !strings.Contains(said, want) {
			t.Errorf("no %s", want)
		}
	}
	select {
	case digest := <-digests:
		t.Errorf("a second digest on one day: %s", digest)
	default:
	}
}

// metrics are what Prometheus reads.
func (s *stoppable) metrics() string {
	s.t.Helper()
	response, err := http.Get("http://" + s.app.AdminAddress() + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// TestWorkIsCounted checks that nothing is left out that is none.
func TestWorkIsCounted(t *testing.T) {
	if got := len(countLeads([]ledger.Count{{Lane: "bulk", State: ledger.StateNone, Leads: 3, Oldest: time.Now()}})); got != len(enrich.Lanes)*len(leadStates) {
		t.Errorf("%d counts", got)
	}
	letters := countLetters([]ledger.DeadCount{{Kind: "lead", Reason: "rejected", Provider: "a", Letters: 2}, {Kind: "lead", Reason: "rejected", Provider: "b", Letters: 3}})
	if len(letters) != 1 || letters[0].Letters != 5 {
		t.Errorf("letters = %v", letters)
	}
}
