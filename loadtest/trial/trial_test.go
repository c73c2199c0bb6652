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
	testAnInterruptedRun(ctx, t, binary)
}

// interrupting ends a run when its progress tells of so many seconds.
type interrupting struct {
	seconds int
	end     context.CancelFunc
}

func (i *interrupting) Write(line []byte) (int, error) {
	if i.seconds--; i.seconds == 0 {
		i.end()
	}
	return len(line), nil
}

// testAnInterruptedRun wants what was measured until then, of everybody, and no
// evidence where there was no load.
func testAnInterruptedRun(ctx context.Context, t *testing.T, binary string) {
	long, err := scenario.Parse("long.yaml", strings.NewReader(`
length: 10m
redis: true
vendors: [{name: peopledatalabs, fake: {data: {}}}]
traffic: [{name: clicks, rate: 20, fields: [person.title]}]
events: [{at: 1s, do: restart replicas}, {at: 9m, do: restart replicas}]
slo: [answered >= 20, redis_trips_per_lead >= 0.1]
`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(ctx)
	r, err := trial.Run(ctx, long, trial.Options{Binary: binary, Progress: &interrupting{4, end}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Passed || !r.Interrupted || r.Planned != 600 || r.Seconds < 3 || r.Seconds > 100 {
		t.Errorf("passed %t, interrupted %t after %v of %v s", r.Passed, r.Interrupted, r.Seconds, r.Planned)
	}
	if len(r.Checks) != 2 || !r.Checks[0].Passed || !r.Checks[1].Passed || len(r.Processes) != 2 || len(r.Processes[0].Points) == 0 || r.Figures["vendor_calls"] == 0 || len(r.Marks) != 1 {
		t.Errorf("checks %+v, %d processes, marks %v, figures %v", r.Checks, len(r.Processes), r.Marks, r.Figures)
	}
	away, err := scenario.Parse("away.yaml", strings.NewReader(`{length: 1m, target: {grpc: "127.0.0.1:1"}, traffic: [{name: clicks}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*scenario.Scenario{long, away} {
		if r, err := trial.Run(ctx, s, trial.Options{Binary: binary}); err == nil {
			t.Errorf("%s: a load that did not begin is told as %v s", s.Name, r.Seconds)
		}
	}
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
