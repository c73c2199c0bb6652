package app

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/ledger/pgtest"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/server"
	"github.com/enrichd/enrichd/sinks"
)

// accepting is the whole program with a store and a file that results go to.
type accepting struct {
	*running
	leads enrichv1.LeadServiceClient
	work  enrichv1.LeadAdminServiceClient
	admin enrichv1.AdminServiceClient
	out   string
}

func accept(t *testing.T, vendors, out string, store ledger.Config, change ...func(*config.Config)) *accepting {
	t.Helper()
	configured := config.Config{
		Server: server.Config{GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0"},
		Store:  store,
		Sinks:  sinks.Config{Files: []sinks.FileConfig{{Name: "archive", Path: out}}},
		Providers: providers.Config{List: []providers.ProviderConfig{
			{Definition: primary, BaseURL: vendors + "/" + primary, AllowPrivate: true, Credentials: map[string]string{"api_key": "k"}},
		}},
	}
	for _, each := range change {
		each(&configured)
	}
	program := start(t, configured, Options{})
	conn, err := grpc.NewClient(program.app.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &accepting{program, enrichv1.NewLeadServiceClient(conn), enrichv1.NewLeadAdminServiceClient(conn), enrichv1.NewAdminServiceClient(conn), out}
}

func (a *accepting) submit(t *testing.T, email string) *enrichv1.Accepted {
	t.Helper()
	answer, err := a.leads.Submit(t.Context(), &enrichv1.SubmitRequest{Leads: []*enrichv1.NewLead{{Subject: &enrichv1.NewLead_Email{Email: email}}}})
	if err != nil || answer.GetResults()[0].GetAccepted() == nil {
		t.Fatalf("Submit: %v, %v", answer, err)
	}
	return answer.GetResults()[0].GetAccepted()
}

func (a *accepting) lead(t *testing.T, id string) *enrichv1.Lead {
	t.Helper()
	lead, err := a.leads.GetLead(t.Context(), &enrichv1.GetLeadRequest{Id: id})
	if err != nil {
		t.Fatalf("GetLead: %v", err)
	}
	return lead
}

func found(lead *enrichv1.Lead) bool {
	return lead.GetState() == enrichv1.LeadState_LEAD_STATE_DONE || lead.GetState() == enrichv1.LeadState_LEAD_STATE_PARTIAL
}

// delivered counts the lines about a lead.
func (a *accepting) delivered(t *testing.T, lead string) (lines int) {
	t.Helper()
	text, err := os.ReadFile(a.out)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var message struct{ Body struct{ Lead string } }
		if err := json.Unmarshal(line, &message); err != nil {
			t.Fatal(err)
		}
		if message.Body.Lead == lead {
			lines++
		}
	}
	return lines
}

// post sends a body to REST and reads the answer into a message.
func (a *accepting) post(t *testing.T, path, kind, body string, into proto.Message) int {
	t.Helper()
	response, err := http.Post(a.rest+path, kind, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode == http.StatusOK {
		if err := protojson.Unmarshal(text, into); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	return response.StatusCode
}

// TestLeadsAreWorkedDeliveredReplayedAndErased is the story of accepted work on
// both databases.
func TestLeadsAreWorkedDeliveredReplayedAndErased(t *testing.T) {
	for name, store := range map[string]func(t *testing.T) ledger.Config{
		"SQLite": func(t *testing.T) ledger.Config { return ledger.Config{Path: filepath.Join(t.TempDir(), "leads.db")} },
		"PostgreSQL": func(t *testing.T) ledger.Config {
			return ledger.Config{PostgreSQL: pgtest.Start(t).Database(t), Connections: 8}
		},
	} {
		t.Run(name, func(t *testing.T) {
			vendors, address := startVendors(t)
			place, out := store(t), filepath.Join(t.TempDir(), "results.ndjson")

			// No text of a caller makes the store look broken.
			first := accept(t, address, out, place)
			_, err := first.leads.GetLead(t.Context(), &enrichv1.GetLeadRequest{Id: "a\x00"})
			if code := status.Code(err); code != codes.InvalidArgument && code != codes.NotFound {
				t.Errorf("an id with a NUL: %v", err)
			}

			// Accepted while nothing is worked, it outlives the process.
			if _, err := first.work.PauseWork(t.Context(), &enrichv1.PauseWorkRequest{Scope: enrichv1.WorkScope_WORK_SCOPE_ALL}); err != nil {
				t.Fatal(err)
			}
			receipt := first.submit(t, "jane.doe@acme.example")
			if !receipt.GetNew() || first.submit(t, "Jane.Doe@ACME.example ").GetId() != receipt.GetId() {
				t.Errorf("the same lead twice is two: %v", receipt)
			}
			first.stop()

			second := accept(t, address, out, place)
			if lead := second.lead(t, receipt.GetId()); lead.GetState() != enrichv1.LeadState_LEAD_STATE_NONE {
				t.Errorf("a pause did not survive: %v", lead)
			}
			if _, err := second.work.ResumeWork(t.Context(), &enrichv1.ResumeWorkRequest{Scope: enrichv1.WorkScope_WORK_SCOPE_ALL}); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the lead is done and delivered", func() bool {
				return found(second.lead(t, receipt.GetId())) && second.delivered(t, receipt.GetId()) == 1
			})
			lead := second.lead(t, receipt.GetId())
			if lead.GetAnswer().GetPerson().GetTitle() == "" || lead.GetAnswer().GetProvenance()["person.title"].GetProvider() != primary || len(lead.GetTimeline()) < 3 || lead.GetCostMicros() == 0 {
				t.Errorf("the lead has no whole answer: %v", lead)
			}
			if calls := vendors.Summary(primary); calls.Duplicates > 0 {
				t.Errorf("%d calls were paid twice", calls.Duplicates)
			}
			second.replay(t, vendors)
			second.imports(t)
			second.events(t)
			second.erase(t, receipt.GetId())
		})
	}
}

// TestWithoutAStoreLeadsAreRefused says what to configure.
func TestWithoutAStoreLeadsAreRefused(t *testing.T) {
	_, address := startVendors(t)
	a := accept(t, address, filepath.Join(t.TempDir(), "unused"), ledger.Config{})
	_, err := a.leads.Submit(t.Context(), &enrichv1.SubmitRequest{Leads: []*enrichv1.NewLead{{Subject: &enrichv1.NewLead_Email{Email: "jane.doe@acme.example"}}}})
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "store") {
		t.Errorf("without a store: %v", err)
	}
	if _, err := os.Stat(a.out); err == nil {
		t.Error("a sink was opened without a store")
	}
}
