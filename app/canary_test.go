package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/enrichd/enrichd/accounts"
	"github.com/enrichd/enrichd/cache/redistest"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/providers/fakevendor"
)

// The canary is an invented person whose name occurs nowhere else, so that it
// is found wherever it was left. Sealed records in Redis begin with recordMagic
// and may tell of her.
const (
	canary      = "quirina"
	recordMagic = "enr\x01"
)

// TestTheCanaryIsHeardNowhere sends an address over every way into the program,
// through failures of vendors and of Redis, with the log at debug and every
// request traced, and looks for it in whatever the program leaves behind.
func TestTheCanaryIsHeardNowhere(t *testing.T) {
	spans.Reset()
	vendors, address := startVendors(t)
	server := redistest.Start(t)
	folder := t.TempDir()
	key := accounts.NewKey()
	hash, err := accounts.HashKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "enrichd.yaml")
	text := fmt.Sprintf(`
log: {level: debug}
telemetry: {admin: "127.0.0.1:0"}
server: {grpc: "127.0.0.1:0", http: "127.0.0.1:0"}
accounts: {list: [{name: sales, keys: [{hash: "%[5]s"}], admin: true}]}
privacy:
  pepper: a pepper for tests only
  redis: {addresses: ["%[4]s"]}
  suppression: {file: %[6]s/suppressed}
  audit: {file: %[6]s/audit.jsonl}
idempotency: {pepper: a pepper for tests only, redis: {addresses: ["%[4]s"]}}
cache: {redis: {addresses: ["%[4]s"], pepper: a pepper for tests only}}
quota: {state_file: %[6]s/quotas, redis: {addresses: ["%[4]s"]}}
providers:
  list:
    - {definition: %[1]s, base_url: "%[3]s/%[1]s", allow_private: true, credentials: {api_key: k}}
    - {definition: %[2]s, base_url: "%[3]s/%[2]s", allow_private: true, credentials: {api_key: k}}
`, primary, secondary, address, server.Addr, hash, folder)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &lockedBuffer{}
	level := &slog.LevelVar{}
	level.Set(slog.LevelDebug)
	program := follow(t, file, Options{Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: level})), Level: level, File: file})

	c := &canaryCall{t: t, program: program, key: key}
	lead := func(number int) string { return fmt.Sprintf("%s.zimmerwald%[2]d@acme%[2]d.example", canary, number) }
	c.answers("/v1/enrich", `{"email":"`+lead(1)+`"}`)
	c.answers("/v1/enrich", `{"email":"`+lead(1)+`"}`)
	c.answers("/v1/enrich", `{"email":"`+lead(2)+`","idempotencyKey":"`+lead(2)+`"}`)
	c.answers("/v1/enrich", `{"email":"`+lead(2)+`","idempotencyKey":"`+lead(2)+`"}`)
	c.answers("/v1/enrich:batch", `{"requests":[{"email":"`+lead(3)+`"},{"email":"`+lead(4)+`"}]}`)
	c.answers("/v1/enrich:stream", `{"correlationId":"1","request":{"email":"`+lead(5)+`"}}`+"\n")
	c.overGRPC(lead(6))

	// What a caller named wrongly is told to that caller, and left nowhere.
	c.refused("/v1/enrich", `{"email":"`+lead(1)+`","`+canary+`":1}`)
	c.refused("/v1/enrich", `{"email":"`+lead(1)+`","fields":"person.`+canary+`"}`)
	for i, refused := range []struct{ path, body string }{
		{"/v1/enrich", `{"email":"` + canary + `@@acme.example"}`},
		{"/v1/enrich", `{"email":"` + canary + ` zimmerwald"}`},
		{"/v1/enrich", `{"email":"` + lead(1) + `","lane":"` + canary + `"}`},
		{"/v1/enrich", `{"email":"` + lead(7) + `","idempotencyKey":"` + lead(2) + `"}`},
		{"/v1/enrich", `{"email":"` + lead(1)},
		{"/v1/" + lead(1), `{}`},
		{"/v1/providers/" + lead(1) + ":pause", `{}`},
		{"/v1/switches", `{"account":"` + lead(1) + `","off":true}`},
		{"/v1/subjects:erase", `{"email":"` + canary + `@@acme.example"}`},
		{"/v1/subjects:lift", `{"email":"` + canary + `@@acme.example"}`},
	} {
		if said := c.refused(refused.path, refused.body); strings.Contains(strings.ToLower(said), canary) {
			t.Errorf("refusal %d holds it: %s", i, said)
		}
	}

	number := 10
	for _, kind := range []fakevendor.FaultKind{fakevendor.Outage, fakevendor.EarlyClose, fakevendor.Truncated, fakevendor.Malformed, fakevendor.HTML, fakevendor.Redirect} {
		fault := fakevendor.Fault{Kind: kind}
		if kind == fakevendor.Redirect {
			fault.Location = "http://elsewhere.example/?email=" + lead(number)
		}
		for _, vendor := range []string{primary, secondary} {
			if err := vendors.SetFaults(vendor, fakevendor.Faults{Rules: []fakevendor.Fault{fault}}); err != nil {
				t.Fatal(err)
			}
		}
		if said := c.refused("/v1/enrich", `{"email":"`+lead(number)+`","budget":"1s"}`); strings.Contains(strings.ToLower(said), canary) {
			t.Errorf("the answer to %s holds it: %s", kind, said)
		}
		number++
	}
	for _, vendor := range []string{primary, secondary} {
		if err := vendors.SetFaults(vendor, fakevendor.Faults{}); err != nil {
			t.Fatal(err)
		}
	}
	c.answers("/v1/subjects:forget", `{"email":"`+lead(1)+`"}`)
	c.answers("/v1/subjects:erase", `{"email":"`+lead(2)+`"}`)
	if _, said := c.post("/v1/enrich", `{"email":"`+lead(2)+`","idempotencyKey":"`+lead(2)+`"}`); strings.Contains(said, `"person":`) || strings.Contains(said, "jobTitle") {
		t.Errorf("she is erased, and told about: %s", said)
	}
	c.answers("/v1/subjects:lift", `{"email":"`+lead(2)+`"}`)
	c.answers("/v1/subjects:erase", `{"email":"`+lead(2)+`"}`)

	metrics := scrape(t, c.program.app)
	for place, left := range map[string]string{"Redis": redisText(t, server.Addr), "metrics": metrics} {
		c.silent(place, left)
	}
	for _, counted := range []string{
		"enrichd_suppressed_tags 1", `enrichd_suppressions_owed{copy="file"} 0`, `enrichd_audit_entries_total{result="dropped"} 0`,
		`enrichd_repeats_total{result="repeated"} 1`, `enrichd_repeats_total{result="reused"} 1`,
	} {
		if !strings.Contains(metrics, counted+"\n") {
			t.Errorf("no %s among the metrics", counted)
		}
	}
	server.Kill()
	c.refused("/v1/enrich", `{"email":"`+lead(30)+`","budget":"1s"}`)
	c.refused("/v1/subjects:erase", `{"email":"`+lead(31)+`"}`)
	program.stop()

	var traced strings.Builder
	ended := spans.GetSpans()
	for _, span := range ended {
		fmt.Fprintf(&traced, "%s %v %v %v %v\n", span.Name, span.Attributes, span.Events, span.Status, span.Links)
	}
	c.silent("spans", traced.String())
	c.silent("log", log.String())
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c.silent(filepath.Base(name), string(content))
	}
	audit, err := os.ReadFile(filepath.Join(folder, "audit.jsonl"))
	if err != nil || strings.Count(string(audit), "\n") < 10 || len(ended) < 20 || !strings.Contains(log.String(), `"level":"DEBUG"`) {
		t.Errorf("too little was left to look at: audit %d bytes (%v), %d spans", len(audit), err, len(ended))
	}
}

// canaryCall sends the canary.
type canaryCall struct {
	t       *testing.T
	program *running
	key     string
}

func (c *canaryCall) post(path, body string) (status int, said string) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.program.rest+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return response.StatusCode, fmt.Sprint(response.Header) + string(text)
}

func (c *canaryCall) answers(path, body string) {
	c.t.Helper()
	if status, said := c.post(path, body); status != http.StatusOK {
		c.t.Errorf("%s: %d %s", path, status, said)
	}
}

func (c *canaryCall) refused(path, body string) string {
	c.t.Helper()
	status, said := c.post(path, body)
	if status == http.StatusOK {
		c.t.Errorf("%s: not refused: %s", path, said)
	}
	return said
}

func (c *canaryCall) overGRPC(email string) {
	c.t.Helper()
	ctx := withKey(c.t.Context(), c.key)
	if _, err := c.program.grpc.Enrich(ctx, &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: email}}); err != nil {
		c.t.Errorf("over gRPC: %v", err)
	}
	if _, err := c.program.grpc.Enrich(ctx, &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "@" + email}}); err == nil || strings.Contains(err.Error(), canary) {
		c.t.Errorf("a bad address over gRPC: %v", err)
	}
}

// scrape is what Prometheus reads of the program.
func scrape(t *testing.T, app *App) string {
	t.Helper()
	response, err := http.Get("http://" + app.parts.telemetry.AdminAddress() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(text), "enrichd_requests_total") {
		t.Errorf("no metrics: %v", err)
	}
	return string(text)
}

// silent expects that something which was left behind does not name the canary.
func (c *canaryCall) silent(place, left string) {
	c.t.Helper()
	for line := range strings.Lines(strings.ToLower(left)) {
		if strings.Contains(line, canary) {
			c.t.Errorf("%s: %.400s", place, line)
		}
	}
}

// redisText is all that a Redis holds, without the content of sealed records.
func redisText(t *testing.T, address string) string {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: address})
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	keys, err := client.Keys(ctx, "*").Result()
	if err != nil || len(keys) < 5 {
		t.Fatalf("%d keys, %v", len(keys), err)
	}
	var all strings.Builder
	for _, key := range keys {
		content := client.Get(ctx, key).Val()
		if strings.HasPrefix(content, recordMagic) {
			content = "a record"
		}
		fmt.Fprintln(&all, key, content, client.HGetAll(ctx, key).Val(), client.SMembers(ctx, key).Val(),
			client.ZRange(ctx, key, 0, -1).Val(), client.LRange(ctx, key, 0, -1).Val(), client.XRange(ctx, key, "-", "+").Val())
	}
	return all.String()
}
