package app

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/providers/fakevendor"
)

// replay has a lead fail for good, mends the vendor, and repeats the work.
func (a *accepting) replay(t *testing.T, vendors *fakevendor.Server) {
	t.Helper()
	if err := vendors.SetFaults(primary, fakevendor.Faults{Rules: []fakevendor.Fault{{Kind: fakevendor.Outage, Status: 401}}}); err != nil {
		t.Fatal(err)
	}
	id := a.submit(t, "john.roe@northwind.example").GetId() // nothing of it is known
	waitFor(t, "a dead letter", func() bool { return a.lead(t, id).GetState() == enrichv1.LeadState_LEAD_STATE_ERROR })
	listed, err := a.work.ListDeadLetters(t.Context(), &enrichv1.ListDeadLettersRequest{})
	if err != nil || len(listed.GetDeadLetters()) != 1 || len(listed.GetCounts()) != 1 || listed.GetDeadLetters()[0].GetLead() != id || listed.GetDeadLetters()[0].GetRemedy() == "" ||
		len(listed.GetDeadLetters()[0].GetTries()) == 0 || listed.GetDeadLetters()[0].GetProvider() != primary {
		t.Fatalf("dead letters = %v, %v", listed, err)
	}
	if err := vendors.SetFaults(primary, fakevendor.Faults{}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.admin.ResumeProvider(t.Context(), &enrichv1.ResumeProviderRequest{Provider: primary}); err != nil {
		t.Fatal(err)
	}
	letter := listed.GetDeadLetters()[0].GetId()
	dry, err := a.work.ReplayDeadLetters(t.Context(), &enrichv1.ReplayDeadLettersRequest{Filter: &enrichv1.DeadLetterFilter{}, DryRun: true})
	if err != nil || dry.GetReplayed() != 1 || a.lead(t, id).GetState() != enrichv1.LeadState_LEAD_STATE_ERROR {
		t.Errorf("a dry run = %v, %v", dry, err)
	}
	done, err := a.work.ReplayDeadLetters(t.Context(), &enrichv1.ReplayDeadLettersRequest{Ids: []string{letter}})
	if err != nil || done.GetReplayed() != 1 {
		t.Fatalf("replay = %v, %v", done, err)
	}
	waitFor(t, "the replayed lead is done and delivered", func() bool { return found(a.lead(t, id)) && a.delivered(t, id) == 1 })
	if _, err := a.work.ReplayDeadLetters(t.Context(), &enrichv1.ReplayDeadLettersRequest{Ids: []string{letter}}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a second replay: %v", err)
	}
	compared, err := a.work.CompareLead(t.Context(), &enrichv1.CompareLeadRequest{Id: id})
	if err != nil || len(compared.GetAttributes()) == 0 {
		t.Errorf("compare = %v, %v", compared, err)
	}
}

const messy = "\xef\xbb\xbfName;E-Mail\r\n" +
	"Mary;mary.poe@acme.example\r\n" +
	"Nobody;not an address\r\n" +
	"Mary again;MARY.POE@acme.example\r\n" +
	"short\r\n" +
	"\"Ann\";ann.coe@acme.example\r\n"

// imports reads a messy file twice: its figures add up, and it is one import.
func (a *accepting) imports(t *testing.T) {
	t.Helper()
	imported, again := &enrichv1.Import{}, &enrichv1.Import{}
	if code := a.post(t, "/v1/imports?fields=person.title", "text/csv", messy, imported); code != 200 {
		t.Fatalf("the import was answered with %d", code)
	}
	if imported.GetAccepted() != 2 || imported.GetRepeated() != 1 || imported.GetRefused() != 2 || imported.GetFinishTime() == nil {
		t.Errorf("import = %v", imported)
	}
	if code := a.post(t, "/v1/imports?fields=person.title", "text/csv", messy, again); code != 200 || again.GetId() != imported.GetId() || again.GetAccepted() != 2 {
		t.Errorf("the same file again = %d, %v", code, again)
	}
	rows, err := a.leads.ListImportRows(t.Context(), &enrichv1.ListImportRowsRequest{Id: imported.GetId()})
	if err != nil || len(rows.GetRows()) != 5 || rows.GetRows()[1].GetReason() == "" {
		t.Errorf("rows = %v, %v", rows, err)
	}
	waitFor(t, "every row ends", func() bool {
		ended, err := a.leads.ListLeads(t.Context(), &enrichv1.ListLeadsRequest{Origin: imported.GetId(), States: []enrichv1.LeadState{
			enrichv1.LeadState_LEAD_STATE_DONE, enrichv1.LeadState_LEAD_STATE_PARTIAL, enrichv1.LeadState_LEAD_STATE_NOT_FOUND, enrichv1.LeadState_LEAD_STATE_ERROR}})
		return err == nil && int64(len(ended.GetLeads())) == imported.GetAccepted()
	})
	if code := a.post(t, "/v1/imports", "text/csv", "a;b\n1;2\n", nil); code != 400 {
		t.Errorf("a file without addresses was answered with %d", code)
	}
	unknown := &enrichv1.CreateImportRequest{Content: []byte("email\nx@acme.example\n"), Fields: &fieldmaskpb.FieldMask{Paths: []string{"person.shoe"}}}
	if _, err := a.leads.CreateImport(t.Context(), unknown); status.Code(err) != codes.InvalidArgument {
		t.Errorf("an import that wants what there is not: %v", err)
	}
}

// events receives one event twice, and one of the wrong shape.
func (a *accepting) events(t *testing.T) {
	t.Helper()
	event := `{"eventId":"form-1","capturedAt":"` + time.Now().UTC().Format(time.RFC3339) + `","contact":{"email":"eve.moe@acme.example"}}`
	first, again := &enrichv1.ReceiveEventResponse{}, &enrichv1.ReceiveEventResponse{}
	a.post(t, "/v1/events", "application/json", event, first)
	a.post(t, "/v1/events", "application/json", event, again)
	if !first.GetLead().GetNew() || again.GetLead().GetNew() || first.GetLead().GetId() != again.GetLead().GetId() {
		t.Errorf("an event twice = %v, %v", first, again)
	}
	if code := a.post(t, "/v1/events", "application/json", `{"eventId":"form-2"}`, nil); code != 400 {
		t.Errorf("half an event was answered with %d", code)
	}
}

// erase leaves nothing of a lead but its row, and lets it in no more.
func (a *accepting) erase(t *testing.T, id string) {
	t.Helper()
	proof, err := a.admin.EraseSubject(t.Context(), &enrichv1.EraseSubjectRequest{Subject: &enrichv1.EraseSubjectRequest_Email{Email: "jane.doe@acme.example"}})
	if err != nil {
		t.Fatal(err)
	}
	reached := false
	for _, dropped := range proof.GetDropped() {
		reached = reached || dropped.GetPlace() == leadsPlace && dropped.GetEntries() >= 1
	}
	if lead := a.lead(t, id); !reached || lead.GetAnswer() != nil || len(lead.GetTimeline()) > 0 {
		t.Errorf("after an erasure: %v, %v", proof, lead)
	}
	answer, err := a.leads.Submit(t.Context(), &enrichv1.SubmitRequest{Leads: []*enrichv1.NewLead{{Subject: &enrichv1.NewLead_Email{Email: "jane.doe@acme.example"}}}})
	if err != nil || codes.Code(answer.GetResults()[0].GetError().GetCode()) != codes.PermissionDenied {
		t.Errorf("an erased subject is accepted: %v, %v", answer, err)
	}
}
