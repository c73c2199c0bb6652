package app

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/sinks"
)

// guarded is the whole program with a store and three accounts: two that hand in
// leads, one of them for purposes alone, and the operators'.
type guarded struct {
	*running
	sales, partner, operators *canaryCall
	secret                    sinks.Secret
}

func guard(t *testing.T, more string) *guarded {
	t.Helper()
	_, vendors := startVendors(t)
	salesKey, sales := newKey(t)
	partnerKey, partner := newKey(t)
	operatorsKey, operators := newKey(t)
	written := "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s", 32)))
	secret, err := sinks.ParseSecret(written)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "enrichd.yaml")
	text := fmt.Sprintf(`
server: {grpc: "127.0.0.1:0", http: "127.0.0.1:0"}
accounts:
  list:
    - {name: sales, keys: [{hash: "%s"}]}
    - {name: partner, keys: [{hash: "%s"}], purposes: {inbound: [person.title]}}
    - {name: operators, keys: [{hash: "%s"}], admin: true}
store: {path: "%s"}
intake: {event_secrets: ["%s"]%s}
providers: {list: [{definition: %s, base_url: "%s", allow_private: true, credentials: {api_key: k}}]}
`, sales, partner, operators, filepath.Join(folder, "leads.db"), written, more, primary, vendors+"/"+primary)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program := follow(t, file, Options{File: file})
	by := func(key string) *canaryCall { return &canaryCall{t: t, program: program, key: key} }
	return &guarded{program, by(salesKey), by(partnerKey), by(operatorsKey), secret}
}

// event sends an event and returns the status and what is said.
func (g *guarded) event(as *canaryCall, id, body string, at time.Time, signature string) (int, string) {
	as.t.Helper()
	request, err := http.NewRequestWithContext(as.t.Context(), http.MethodPost, g.rest+"/v1/events", strings.NewReader(body))
	if err != nil {
		as.t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + as.key, "Content-Type": "application/json",
		"Webhook-Id": id, "Webhook-Timestamp": strconv.FormatInt(at.Unix(), 10), "Webhook-Signature": signature} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		as.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		as.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func captured(id, email string, at time.Time) string {
	return fmt.Sprintf(`{"eventId":%q,"capturedAt":%q,"contact":{"email":%q}}`, id, at.UTC().Format(time.RFC3339), email)
}

// leads counts all that are accepted.
func (g *guarded) leads(t *testing.T) int {
	t.Helper()
	status, said := g.operators.post("/v1/leads:list", "{}")
	list := &enrichv1.ListLeadsResponse{}
	if err := protojson.Unmarshal([]byte(said[strings.Index(said, "{"):]), list); status != 200 || err != nil {
		t.Fatalf("%d %v %s", status, err, said)
	}
	return len(list.GetLeads())
}

// TestSignedEvents sends events as a form's server does, and as others would.
func TestSignedEvents(t *testing.T) {
	g := guard(t, "")
	now := time.Now()
	send := func(id, body string, at time.Time) (int, string) {
		return g.event(g.sales, id, body, at, g.secret.Sign(id, at, []byte(body)))
	}
	second, first := captured("e2", "eve.moe@acme.example", now), captured("e1", "eve.moe@acme.example", now.Add(-time.Minute))

	status, said := send("m2", second, now)
	if status != 200 || !strings.Contains(said, `"new":true`) {
		t.Fatalf("a good event: %d %s", status, said)
	}
	for name, again := range map[string]struct{ id, body string }{"the same delivery": {"m2", second}, "a repeated one": {"m3", second}, "an older one later": {"m1", first}} {
		if status, said := send(again.id, again.body, now); status != 200 || strings.Contains(said, `"new":true`) {
			t.Errorf("%s: %d %s", name, status, said)
		}
	}
	if status, said := send("m4", captured("e2", "somebody.else@acme.example", now), now); status != 400 || !strings.Contains(said, `"class":"event_id_reused"`) || strings.Contains(said, "somebody") {
		t.Errorf("another event under a known id: %d %s", status, said)
	}
	stranger, err := sinks.ParseSecret("whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 32))))
	if err != nil {
		t.Fatal(err)
	}
	other := captured("e9", "another.one@acme.example", now)
	for name, forged := range map[string]struct {
		at        time.Time
		signature string
	}{
		"unsigned":             {now, ""},
		"signed by a stranger": {now, stranger.Sign("m9", now, []byte(other))},
		"another body's":       {now, g.secret.Sign("m9", now, []byte(second))},
		"replayed too late":    {now.Add(-10 * time.Minute), g.secret.Sign("m9", now.Add(-10*time.Minute), []byte(other))},
		"from the future":      {now.Add(10 * time.Minute), g.secret.Sign("m9", now.Add(10*time.Minute), []byte(other))},
	} {
		if status, said := g.event(g.sales, "m9", other, forged.at, forged.signature); status != 403 || !strings.Contains(said, `"class":"signature"`) {
			t.Errorf("%s: %d %s", name, status, said)
		}
	}
	for name, wrong := range map[string]struct{ body, class string }{
		"half an event":      {`{"eventId":"e9"}`, "required"},
		"no event":           {`[1,2]`, "type"},
		"no JSON":            {`{"eventId":`, "not_json"},
		"captured tomorrow":  {captured("e9", "another.one@acme.example", now.Add(24*time.Hour)), "future"},
		"a field of its own": {strings.Replace(other, `"contact"`, `"ssn":"1","contact"`, 1), "additionalProperties"},
		"no address":         {captured("e9", "nobody at all", now), "no_at"},
		"huge":               {captured("e9", strings.Repeat("x", 100<<10)+"@acme.example", now), "too_large"},
	} {
		status, said := send("m9", wrong.body, now)
		if status != 400 || !strings.Contains(said, `"class":"`+wrong.class+`"`) || strings.Contains(said, "another.one") {
			t.Errorf("%s: %d %.400s", name, status, said)
		}
	}
	if count := g.leads(t); count != 1 {
		t.Errorf("%d leads are accepted, want one", count)
	}
}

// TestAKeyIsOneLead hands leads of two people in under one key: the second is
// refused, and not told to be the first.
func TestAKeyIsOneLead(t *testing.T) {
	g := guard(t, "")
	status, said := g.sales.post("/v1/leads", `{"leads":[{"email":"jane.doe@acme.example","idempotencyKey":"order-7"},{"email":"john.roe@acme.example","idempotencyKey":"order-7"}]}`)
	if status != 200 || strings.Count(said, `"accepted"`) != 1 || !strings.Contains(said, `"class":"idempotency_key_reused"`) || !strings.Contains(said, "leads[1].idempotency_key") {
		t.Errorf("at once: %d %s", status, said)
	}
	status, said = g.sales.post("/v1/leads", `{"leads":[{"email":"john.roe@acme.example","idempotencyKey":"order-7"}]}`)
	if status != 200 || strings.Contains(said, `"accepted"`) || !strings.Contains(said, `"class":"idempotency_key_reused"`) {
		t.Errorf("later: %d %s", status, said)
	}
	if count := g.leads(t); count != 1 {
		t.Errorf("%d leads are accepted, want one", count)
	}
}

// TestEventsOfAnAccountWithPurposes are refused unless the configuration names
// the purpose of events, and leave nothing behind.
func TestEventsOfAnAccountWithPurposes(t *testing.T) {
	for more, want := range map[string]int{"": 403, ", event_purpose: outreach": 403, ", event_purpose: inbound": 200} {
		g := guard(t, more)
		now := time.Now()
		body := captured("e1", "eve.moe@acme.example", now)
		status, said := g.event(g.partner, "m1", body, now, g.secret.Sign("m1", now, []byte(body)))
		if status != want || status != 200 && !strings.Contains(said, `"class":"event_purpose"`) {
			t.Errorf("with %q: %d %s", more, status, said)
		}
		if count := g.leads(t); (count == 1) != (want == 200) {
			t.Errorf("with %q: %d leads are accepted", more, count)
		}
		g.stop()
	}
}

// TestLeadsOfOthersAreUnknown asks for leads, imports and letters by their ids,
// as another account.
func TestLeadsOfOthersAreUnknown(t *testing.T) {
	g := guard(t, "")
	g.operators.answers("/v1/work:pause", `{"scope":"WORK_SCOPE_ALL"}`)
	status, said := g.sales.post("/v1/leads", `{"leads":[{"email":"jane.doe@acme.example"}]}`)
	accepted := &enrichv1.SubmitResponse{}
	if err := protojson.Unmarshal([]byte(said[strings.Index(said, "{"):]), accepted); status != 200 || err != nil {
		t.Fatalf("%d %v %s", status, err, said)
	}
	id := accepted.GetResults()[0].GetAccepted().GetId()
	_, said = g.sales.post("/v1/imports", "email\njohn.roe@acme.example\n")
	imported := &enrichv1.Import{}
	if err := protojson.Unmarshal([]byte(said[strings.Index(said, "{"):]), imported); err != nil {
		t.Fatalf("%v %s", err, said)
	}
	for _, path := range []string{"/v1/leads/" + id + ":cancel", "/v1/leads/" + id + ":retry", "/v1/imports/" + imported.GetId() + ":rows"} {
		if status, said := g.partner.post(path, "{}"); status != 404 || !strings.Contains(said, "unknown_id") {
			t.Errorf("%s as another account: %d %s", path, status, said)
		}
	}
	for _, path := range []string{"/v1/leads/" + id, "/v1/imports/" + imported.GetId()} {
		if status := get(t, g.partner, path); status != 404 {
			t.Errorf("%s as another account: %d", path, status)
		}
		if status := get(t, g.sales, path); status != 200 {
			t.Errorf("%s as its own account: %d", path, status)
		}
	}
	if _, said := g.partner.post("/v1/leads:list", `{"account":"sales"}`); strings.Contains(said, id) {
		t.Errorf("another account lists it: %s", said)
	}
	for _, path := range []string{"/v1/deadletters:replay", "/v1/deadletters:list", "/v1/leads/" + id + ":reset", "/v1/ledger:export", "/v1/work:pause"} {
		if status, said := g.sales.post(path, `{"ids":["`+id+`"]}`); status != 403 || !strings.Contains(said, "admin_scope") {
			t.Errorf("%s without the admin scope: %d %s", path, status, said)
		}
	}
	// What is in work is neither worked twice nor reset from nobody.
	for path, want := range map[string]struct {
		status int
		class  string
	}{
		"/v1/leads/" + id + ":retry": {409, "live"}, "/v1/leads/" + id + ":reset": {400, "state"},
		"/v1/leads/none:reset": {404, "unknown_id"}, "/v1/leads/none:retry": {404, "unknown_id"},
	} {
		if status, said := g.operators.post(path, "{}"); status != want.status || !strings.Contains(said, `"class":"`+want.class+`"`) {
			t.Errorf("%s: %d %s, want %d %s", path, status, said, want.status, want.class)
		}
	}
	g.sales.answers("/v1/leads/"+id+":cancel", "{}")
	if status, said := g.sales.post("/v1/leads/"+id+":cancel", "{}"); status != 400 || !strings.Contains(said, `"class":"state"`) {
		t.Errorf("cancelled twice: %d %s", status, said)
	}
	g.sales.answers("/v1/leads/"+id+":retry", "{}")
}

// get asks for a path and returns the status.
func get(t *testing.T, as *canaryCall, path string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, as.program.rest+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+as.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}
