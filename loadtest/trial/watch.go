package trial

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/enrichd/enrichd/loadtest/drive"
	"github.com/enrichd/enrichd/loadtest/fleet"
	"github.com/enrichd/enrichd/loadtest/judge"
	"github.com/enrichd/enrichd/providers/fakevendor"
)

// patience is how long a replica may take to say how it is. One that works at
// the limit is not waited for.
const patience = 300 * time.Millisecond

// watch looks at everything once a second.
type watch struct {
	trial    *trial
	progress io.Writer
	bands    []judge.Band
	health   *health

	held map[string][]judge.ProcessPoint
}

func newWatch(t *trial, progress io.Writer) *watch {
	return &watch{trial: t, progress: progress, held: map[string][]judge.ProcessPoint{}, health: newHealth(t)}
}

// run looks until ctx ends.
func (w *watch) run(ctx context.Context) {
	defer w.health.close()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	before := map[string]fakevendor.Summary{}
	for at := 0; ; at++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.bands = w.health.bands(time.Since(w.trial.began).Seconds())
			if w.progress != nil {
				fmt.Fprintln(w.progress)
			}
			return
		}
		var sum drive.Point
		for _, caller := range w.trial.callers {
			point := caller.turn(at)
			sum.Answered, sum.Failed = sum.Answered+point.Answered, sum.Failed+point.Failed
			sum.P95 = max(sum.P95, point.P95)
		}
		var looking sync.WaitGroup // side by side, so that a silent replica delays no second
		looking.Go(func() { w.look(ctx, at) })
		looking.Go(func() { w.health.look(ctx, time.Since(w.trial.began).Seconds()) })
		looking.Wait()
		w.tell(at, sum, before)
	}
}

// look reads what every process holds.
func (w *watch) look(ctx context.Context, at int) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var mu sync.Mutex
	var looking sync.WaitGroup
	see := func(name string, process *fleet.Process) {
		looking.Go(func() {
			usage, err := process.Usage(ctx)
			if err != nil {
				return // it has ended
			}
			cpu, err := process.CPU()
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			w.held[name] = append(w.held[name], judge.ProcessPoint{At: at, Usage: usage, CPU: cpu.Seconds()})
		})
	}
	for _, replica := range w.trial.replicas {
		see(replica.Name(), replica.Current())
	}
	if w.trial.redis != nil {
		see(judge.Redis, w.trial.redis.Current())
	}
	looking.Wait()
}

// processes are the replicas in their order, then Redis.
func (w *watch) processes() (all []judge.Process) {
	for _, replica := range w.trial.replicas {
		all = append(all, judge.Process{Name: replica.Name(), Points: w.held[replica.Name()]})
	}
	if w.trial.redis != nil {
		all = append(all, judge.Process{Name: judge.Redis, Points: w.held[judge.Redis]})
	}
	return all
}

// tell writes the line of progress.
func (w *watch) tell(at int, sum drive.Point, before map[string]fakevendor.Summary) {
	if w.progress == nil {
		return
	}
	var line strings.Builder
	fmt.Fprintf(&line, "\r\x1b[K%s %3ds/%.0fs  %5d/s answered  %3d/s failed  p95 %s", w.trial.Name, at+1, w.trial.Length.Seconds(),
		sum.Answered, sum.Failed, time.Duration(sum.P95*float64(time.Second)).Round(time.Millisecond))
	if w.trial.vendors != nil {
		for _, name := range w.trial.vendors.Vendors() {
			summary := w.trial.vendors.Summary(name)
			fmt.Fprintf(&line, "  %s %d/s (%d refused)", name, summary.Calls-before[name].Calls, summary.RateLimited)
			before[name] = summary
		}
	}
	fmt.Fprint(w.progress, line.String())
}
