package jobs_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
)

// backlogSize is how many bulk leads wait beside the interactive ones.
const backlogSize = "ENRICHD_BACKLOG" // default 5000

// BenchmarkInteractive measures how long interactive leads take from acceptance
// to their end, alone and while a bulk import is accepted and worked off.
func BenchmarkInteractive(b *testing.B) {
	backlog := 5000
	if text := os.Getenv(backlogSize); text != "" {
		var err error
		if backlog, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	onBoth(b, func(b *testing.B, config ledger.Config) {
		w := newWorld(b, config, true)
		this := run.Add(1)
		n := 0
		measure := func(name string) time.Duration {
			var took []time.Duration
			for range b.N {
				n++
				began := time.Now()
				id := w.submit(b, addressed(n, this, enrich.Interactive))[0].Receipt.ID
				for !w.lead(b, id).State.Ended() {
					<-time.After(time.Millisecond)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			half := took[len(took)/2]
			b.ReportMetric(float64(half.Microseconds())/1000, name+"-p50-ms")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, name+"-p95-ms")
			return half
		}
		alone := measure("alone")
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- importing(ctx, w, backlog, this) }()
		beside := measure("beside")
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		b.ReportMetric(float64(beside)/float64(alone), "times")
	})
}

// importing hands in bulk leads as an import does: a hundred at a time, with
// pauses.
func importing(ctx context.Context, w *world, count int, run int64) error {
	for n := 0; n < count && ctx.Err() == nil; n += 100 {
		var leads []jobs.Lead
		for i := range 100 {
			leads = append(leads, jobs.Lead{Email: fmt.Sprintf("i%d-%d@hopper.example", run, n+i), Lane: enrich.Bulk})
		}
		began := time.Now()
		if _, err := w.engine.Submit(context.WithoutCancel(ctx), acme, leads...); err != nil {
			return err
		}
		<-time.After(min(time.Since(began), 100*time.Millisecond))
	}
	return nil
}
