package trial_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/enrichd/enrichd/loadtest/fleet"
	"github.com/enrichd/enrichd/loadtest/judge"
	"github.com/enrichd/enrichd/loadtest/scenario"
	"github.com/enrichd/enrichd/loadtest/trial"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestShortRun starts a real fleet, lets it suffer, and compares what callers
// saw with what the vendor billed.
func TestShortRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts enrichd")
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatal("redis-server is not installed; on Debian: apt-get install redis-server")
	}
	file, err := os.Open("testdata/short.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	short, err := scenario.Parse(file.Name(), file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	binary, err := fleet.Build(ctx, t.TempDir(), "-race")
	if err != nil {
		t.Fatal(err)
	}
	var progress strings.Builder
	r, err := trial.Run(ctx, short, trial.Options{Binary: binary, Progress: &progress})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Passed {
		t.Errorf("checks %+v", r.Checks)
	}
	answers := map[string]int64{}
	for _, traffic := range r.Traffic {
		answers[traffic.Name] = traffic.Tally.Answered
		if traffic.Tally.Answered == 0 {
			t.Errorf("%s got no answer: %v", traffic.Name, traffic.Tally.Codes)
		}
	}
	if answers["lists"] > 30 || answers["feed"] > 30 {
		t.Errorf("%d and %d answers to 30 leads each", answers["lists"], answers["feed"])
	}
	if fresh := answers["import"] + answers["lists"] + answers["feed"]; float64(fresh) > r.Figures["vendor_calls"] {
		t.Errorf("%d leads that nobody had asked for were answered with %v vendor calls", fresh, r.Figures["vendor_calls"])
	}
	if r.Figures["hit_ratio"] == 0 || r.Figures["redis_trips_per_lead"] == 0 || r.Figures["rss_peak_mib"] == 0 {
		t.Errorf("figures %v", r.Figures)
	}
	if len(r.Marks) != 3 || r.Marks[0].What != "kill replica 2" || len(r.Processes) != 3 {
		t.Errorf("marks %v, %d processes", r.Marks, len(r.Processes))
	}
	counted := map[bool]bool{} // goroutines, by whether it is Redis; a busy replica may not tell
	for _, process := range r.Processes {
		redis := process.Name == judge.Redis
		counted[redis] = counted[redis] || slices.ContainsFunc(process.Points, func(p judge.ProcessPoint) bool { return p.Goroutines > 0 })
	}
	if !counted[false] || counted[true] {
		t.Errorf("goroutines counted of replicas: %t, of Redis: %t", counted[false], counted[true])
	}
	if !strings.Contains(progress.String(), "answered") {
		t.Errorf("progress %q", progress.String())
	}
	testRefusedReload(ctx, t, binary)
	testATargetWithTLS(ctx, t, binary)
}

// refusal is a run in whose middle the replicas are told what they cannot obey.
const refusal = `
length: 3s
vendors: [{name: peopledatalabs, fake: {data: {}}}]
traffic: [{name: clicks, rate: 5, fields: [person.title]}]
events: [{at: 1s, do: reload replicas, service: {router: {attempts: -7}}}]
slo: [failed_share <= 0]
`

// testRefusedReload wants an error of a reload that was refused.
func testRefusedReload(ctx context.Context, t *testing.T, binary string) {
	refused, err := scenario.Parse("refused.yaml", strings.NewReader(refusal))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trial.Run(ctx, refused, trial.Options{Binary: binary}); err == nil || !strings.Contains(err.Error(), "replica 1") {
		t.Errorf("error %v, want one about the replica that refused", err)
	}
}

// TestATargetThatIsAway brings a report of failures, not an error.
func TestATargetThatIsAway(t *testing.T) {
	away, err := scenario.Parse("away.yaml", strings.NewReader(`
length: 1s
target: {grpc: "127.0.0.1:1", rest: "127.0.0.1:1"}
traffic: [{name: clicks, rate: 10}, {name: pages, via: rest, rate: 10}]
slo: [failed_share <= 0]
`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := trial.Run(t.Context(), away, trial.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Passed || r.Figures["failed_share"] != 1 || r.Figures["answered"] != 0 {
		t.Errorf("passed %t, figures %v", r.Passed, r.Figures)
	}
}
