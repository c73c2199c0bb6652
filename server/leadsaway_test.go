package server

import (
	"fmt"
	"net/http"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// TestLeadsThatCannotBeKeptSayWhenToComeBack takes the store, and the place for
// files, away.
func TestLeadsThatCannotBeKeptSayWhenToComeBack(t *testing.T) {
	edge, leads, store := accepting(t)
	t.Setenv("TMPDIR", t.TempDir()+"/missing")
	_, spooled := upload(t, leads, &enrichv1.UploadImportRequest{Import: &enrichv1.CreateImportRequest{Column: "email"}})
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	_, submitted := leads.Submit(t.Context(), &enrichv1.SubmitRequest{Leads: []*enrichv1.NewLead{{Subject: &enrichv1.NewLead_Email{Email: "jane.doe@acme.example"}}}})
	_, read := leads.GetLead(t.Context(), &enrichv1.GetLeadRequest{Id: "x"})
	for what, err := range map[string]error{"a file": spooled, "a lead": submitted, "a look": read} {
		delay := detail[*errdetails.RetryInfo](err).GetRetryDelay().AsDuration()
		if status.Code(err) != codes.Unavailable || delay <= storeDelay/2 || delay > storeDelay {
			t.Errorf("%s: %v, delay %s", what, err, delay)
		}
	}
	code, header, _ := edge.ask(t, http.MethodGet, "/v1/leads/x", "")
	if want := fmt.Sprint(storeDelay.Seconds()); code != http.StatusServiceUnavailable || header.Get("Retry-After") != want {
		t.Errorf("REST answered %d with Retry-After %q, want %s", code, header.Get("Retry-After"), want)
	}
}
