package providers

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/engine"
)

// longAnswer is a person of about 2 KB, with every field that is mapped and
// many that are not.
func longAnswer(tb testing.TB) []byte {
	tb.Helper()
	_, data, err := NewLibrary("").exchanges("peopledatalabs")
	if err != nil {
		tb.Fatal(err)
	}
	cases, err := ReadCases(data)
	if err != nil {
		tb.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(cases[0].Exchanges[0].Body, &body); err != nil {
		tb.Fatal(err)
	}
	record := body["data"].(map[string]any)
	for range 3 {
		jobs, _ := record["experience"].([]any)
		record["experience"] = append(jobs, map[string]any{
			"company": map[string]any{"name": "Acme Werke", "size": "51-200", "industry": "machinery"}, "title": map[string]any{"name": "buyer", "levels": []any{"senior"}},
			"start_date": "2015-01", "end_date": nil, "is_primary": false,
		})
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		tb.Fatal(err)
	}
	return encoded
}

// BenchmarkMapping reads one answer of about 2 KB into 24 facts, and reports
// the least CPU time of several rounds: a busy machine disturbs that least.
func BenchmarkMapping(b *testing.B) {
	definition, err := NewLibrary("").Load("peopledatalabs")
	if err != nil {
		b.Fatal(err)
	}
	call := definition.Call("person")
	scope := &engine.Scope{Email: "anna.weber@acme.example", Wanted: call.Supplies(), Now: time.Now()}
	body := longAnswer(b)
	header := http.Header{"Content-Type": {"application/json"}}
	b.ReportAllocs()
	least := leastCPU(b, func() {
		if reading := call.First().Read(200, header, body, scope, engine.Pricing{}); reading.Outcome != enrich.Hit {
			b.Fatal(reading)
		}
	})
	b.ReportMetric(float64(least.Nanoseconds())/1e3, "cpu-µs/op")
	b.ReportMetric(float64(len(body)), "B/answer")
}

// leastCPU runs do in rounds and returns the CPU time that one run took in the
// cheapest of them, the garbage collector's share included.
func leastCPU(b *testing.B, do func()) time.Duration {
	const round = 500
	least := time.Duration(math.MaxInt64)
	runs, began := 0, cpuTime(b)
	for b.Loop() {
		do()
		if runs++; runs%round == 0 {
			now := cpuTime(b)
			least = min(least, (now-began)/round)
			began = now
		}
	}
	if runs < round {
		return (cpuTime(b) - began) / time.Duration(runs)
	}
	return least
}

// cpuTime is what the process has used.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkOverhead compares the CPU time of a look-up with that of a bare
// net/http call which decodes the same answer, vendor included, in rounds that
// alternate.
func BenchmarkOverhead(b *testing.B) {
	body := longAnswer(b)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body) // the peer may be gone
	}))
	defer server.Close()
	set, err := New(Config{List: []ProviderConfig{{
		Definition: "peopledatalabs", Credentials: map[string]string{"api_key": "k"}, BaseURL: server.URL, AllowPrivate: true,
	}}}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer set.Close()
	vendor := set.Vendors()[0]
	query := person(b, vendor.definition.Call("person").Supplies()...)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ctx := context.Background()

	const round = 20
	bare, ours := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for b.Loop() {
		began := cpuTime(b)
		for range round {
			bareCall(b, ctx, client, server.URL)
		}
		between := cpuTime(b)
		for range round {
			if reply := vendor.Lookup(ctx, query); reply.Outcome != enrich.Hit {
				b.Fatal(reply)
			}
		}
		bare, ours = min(bare, between-began), min(ours, cpuTime(b)-between)
	}
	b.ReportMetric(float64(ours)/float64(bare), "ratio")
	b.ReportMetric(float64(ours-bare)/round/1e3, "cpu-µs-more/call")
	b.ReportMetric(0, "ns/op")
}

func bareCall(b *testing.B, ctx context.Context, client *http.Client, address string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/v5/person/enrich?email=anna.weber%40acme.example&titlecase=true", nil)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("X-Api-Key", "k")
	response, err := client.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.Fatal(err)
	}
	var decoded map[string]any
	if err := json.Unmarshal(body, &decoded); err != nil {
		b.Fatal(err)
	}
}
