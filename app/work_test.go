package app

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/telemetry"
)

// TestCountingRecovers from a database that hung for a while and was away for
// longer: meanwhile nothing is said, and soon after it the truth.
func TestCountingRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		began := time.Now()
		log := &lockedBuffer{}
		l := &leads{log: slog.New(slog.NewTextHandler(log, nil))}
		go l.keepCounting(ctx, func(ctx context.Context) (*telemetry.Work, error) {
			if since := time.Since(began); since < 15*time.Second || since > 5*time.Minute {
				return &telemetry.Work{}, nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		})
		for _, step := range []struct {
			after time.Duration
			known bool
		}{
			{time.Second, true},
			{15*time.Second + countWithin, false},
			{4 * time.Minute, false},
			{5*time.Minute + countWithin + countEvery, true},
		} {
			time.Sleep(step.after - time.Since(began))
			synctest.Wait()
			if known := l.counted.Load() != nil; known != step.known {
				t.Errorf("after %s work is counted: %v", step.after, known)
			}
		}
		if lines := strings.Count(log.String(), "\n"); lines != 2 {
			t.Errorf("%d lines for one outage:\n%s", lines, log.String())
		}
		stop()
		synctest.Wait()
	})
}

// TestALargeLedgerIsCountedSeldom, but not so seldom that its figures are history.
func TestALargeLedgerIsCountedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var counts int
		l := &leads{log: slog.New(slog.DiscardHandler)}
		go l.keepCounting(ctx, func(context.Context) (*telemetry.Work, error) {
			counts++
			time.Sleep(20 * time.Second)
			return &telemetry.Work{}, nil
		})
		time.Sleep(time.Hour)
		stop()
		time.Sleep(time.Minute)
		if want := int(time.Hour / (countRest + 20*time.Second)); counts < want || counts > want+1 {
			t.Errorf("%d counts an hour, want about %d", counts, want)
		}
	})
}
