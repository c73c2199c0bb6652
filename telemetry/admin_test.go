package telemetry

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestTheAdminListenerServesMetricsAndExemplars(t *testing.T) {
	seen, err := New(Config{Admin: "127.0.0.1:0"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := seen.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	seen.Metrics.Finished(traced(t), "Enrich", "OK", "sales", "memory", time.Millisecond)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+seen.AdminAddress()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`enrichd_requests_total{account="sales",code="OK",method="Enrich"} 1`,
		`# {trace_id="ab`,
		`enrichd_build_info{`,
		`go_goroutines`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

func TestProfilesAreForTheSameMachine(t *testing.T) {
	pages := adminPages(quietMetrics().registry, slog.New(slog.DiscardHandler))
	for _, caller := range []struct {
		from, host string
		want       int
	}{
		{"127.0.0.1:4711", "127.0.0.1:8472", http.StatusOK},
		{"[::1]:4711", "localhost:8472", http.StatusOK},
		{"10.0.0.7:4711", "10.0.0.3:8472", http.StatusForbidden},
		{"10.0.0.7:4711", "localhost:8472", http.StatusForbidden},
		{"127.0.0.1:4711", "rebound.example:8472", http.StatusForbidden},
	} {
		request := httptest.NewRequest(http.MethodGet, "/debug/pprof/", nil)
		request.RemoteAddr, request.Host = caller.from, caller.host
		answer := httptest.NewRecorder()
		pages.ServeHTTP(answer, request)
		if answer.Code != caller.want {
			t.Errorf("a profile for %s by %s: %d, want %d", caller.from, caller.host, answer.Code, caller.want)
		}
	}
}

func TestNothingListensUnlessConfigured(t *testing.T) {
	seen, err := New(Config{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if got := seen.AdminAddress(); got != "" {
		t.Errorf("listening at %s", got)
	}
	if err := seen.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestBadConfigurationsAreNamed(t *testing.T) {
	for field, bad := range map[string]Config{
		"admin":            {Admin: "8472"},
		"log_format":       {LogFormat: "xml"},
		"traces: endpoint": {Traces: TracesConfig{Endpoint: "collector:4317"}},
		"traces: sample":   {Traces: TracesConfig{Sample: 1.5}},
		"traces: timeout":  {Traces: TracesConfig{Timeout: -time.Second}},
	} {
		problems := bad.Validate()
		if len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), field+": ") {
			t.Errorf("%s: problems = %v", field, problems)
		}
		if _, err := New(bad, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s: New took it", field)
		}
	}
	if problems := (Config{Admin: ":0", Traces: TracesConfig{Endpoint: "grpcs://collector.example:4317", Sample: -1}}).Validate(); problems != nil {
		t.Errorf("a good configuration has problems: %v", problems)
	}
}
