package jobs_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/ledger/pgtest"
)

// onBoth runs a benchmark on both databases, which wait for their disks.
func onBoth(b *testing.B, bench func(*testing.B, ledger.Config)) {
	b.Run("sqlite", func(b *testing.B) { bench(b, ledger.Config{Path: filepath.Join(b.TempDir(), "enrichd.db")}) })
	b.Run("postgresql", func(b *testing.B) { bench(b, ledger.Config{PostgreSQL: pgtest.Start(b).Database(b)}) })
}

var run atomic.Int64 // makes addresses of repeated benchmarks different

func addressed(n int, run int64, lane enrich.Lane) jobs.Lead {
	return jobs.Lead{Email: fmt.Sprintf("b%d-%d@lovelace.example", run, n), Lane: lane}
}

// BenchmarkAccept hands in single leads from 32 callers.
func BenchmarkAccept(b *testing.B) {
	onBoth(b, func(b *testing.B, config ledger.Config) {
		w := newWorld(b, config, false)
		this := run.Add(1)
		var next atomic.Int64
		before := spentCPU(b)
		b.ResetTimer()
		var callers sync.WaitGroup
		for range 32 {
			callers.Go(func() {
				for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
					if _, err := w.engine.Submit(context.Background(), acme, addressed(int(n), this, enrich.Standard)); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		callers.Wait()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "accepts/s")
		reportCPU(b, before, b.N)
	})
}

// BenchmarkBatch hands in 500 leads at once into the bulk lane.
func BenchmarkBatch(b *testing.B) {
	onBoth(b, func(b *testing.B, config ledger.Config) {
		w := newWorld(b, config, false)
		this := run.Add(1)
		n := 0
		before := spentCPU(b)
		for b.Loop() {
			var leads []jobs.Lead
			for range ledger.MostAccepted {
				n++
				leads = append(leads, addressed(n, this, enrich.Bulk))
			}
			w.submit(b, leads...)
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "accepts/s")
		reportCPU(b, before, n)
	})
}

// BenchmarkWork works leads off whose vendors answer at once, each with charges,
// timeline and a delivery, until all are delivered.
func BenchmarkWork(b *testing.B) {
	for _, lane := range []enrich.Lane{enrich.Standard, enrich.Bulk} {
		b.Run(string(lane), func(b *testing.B) {
			onBoth(b, func(b *testing.B, config ledger.Config) {
				w := newWorld(b, config, false)
				this := run.Add(1)
				var leads []jobs.Lead
				for n := range b.N {
					leads = append(leads, addressed(n, this, lane))
				}
				w.submit(b, leads...)
				before := spentCPU(b)
				b.ResetTimer()
				w.start(b)
				for w.box.count() < b.N {
					<-time.After(5 * time.Millisecond)
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "leads/s")
				reportCPU(b, before, b.N)
			})
		})
	}
}

func reportCPU(b *testing.B, before time.Duration, leads int) {
	b.ReportMetric(float64((spentCPU(b)-before).Microseconds())/1000/float64(leads), "cpu-ms/lead")
}

// spentCPU is the processor time of this process, without the database's where
// that is a process of its own.
func spentCPU(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
