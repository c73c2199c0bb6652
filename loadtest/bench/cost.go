package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/enrichd/enrichd/loadtest/drive"
	"github.com/enrichd/enrichd/loadtest/fleet"
)

// workers ask at once while the processor's time is measured.
const workers = 16

// measured is something whose cost is measured.
type measured struct {
	process *fleet.Process
	// call makes the nth call; an error spoils the measurement.
	call func(ctx context.Context, n int64) error
	// records that one call brings; 0: 1.
	records int
	// callers call at once; 0: workers.
	callers int

	rounds []time.Duration // of processor time for one record
}

// least is the cost of the round that was disturbed least.
func (m *measured) least() time.Duration { return slices.Min(m.rounds) }

func (m *measured) median() time.Duration {
	sorted := slices.Sorted(slices.Values(m.rounds))
	return sorted[len(sorted)/2]
}

// over is the cost of m as a multiple of the floor's.
func (m *measured) over(floor *measured) result {
	return result{
		value:  ratio(float64(m.least()) / float64(floor.least())),
		detail: fmt.Sprintf("%s over %s per record; medians %s over %s", micros(m.least()), micros(floor.least()), micros(m.median()), micros(floor.median())),
	}
}

func micros(d time.Duration) string { return fmt.Sprintf("%.1f µs", float64(d)/1e3) }

// takeTurns measures all in turn, round after round, so that what else the
// machine does meets all alike. A first short round warms up and is not counted.
func (b *bench) takeTurns(ctx context.Context, all ...*measured) error {
	if err := pin(b.Client); err != nil {
		return err
	}
	for round := range b.Rounds + 1 {
		for _, one := range all {
			length := b.Length
			if round == 0 {
				length /= 3
			}
			cost, err := one.round(ctx, length)
			if err != nil {
				return err
			}
			if round > 0 {
				one.rounds = append(one.rounds, cost)
			}
		}
	}
	return ctx.Err()
}

func (m *measured) round(ctx context.Context, length time.Duration) (time.Duration, error) {
	before, err := m.process.CPU()
	if err != nil {
		return 0, err
	}
	var calls atomic.Int64
	var failed atomic.Pointer[error]
	end := time.Now().Add(length)
	drive.Closed(ctx, cmp.Or(m.callers, workers), func(ctx context.Context, n int64) bool {
		if err := m.call(ctx, n); err != nil {
			failed.CompareAndSwap(nil, &err)
			return false
		}
		calls.Add(1)
		return time.Now().Before(end)
	})
	if failure := failed.Load(); failure != nil {
		return 0, *failure
	}
	after, err := m.process.CPU()
	if err != nil {
		return 0, err
	}
	if calls.Load() == 0 {
		return 0, fmt.Errorf("%s answered nothing", m.process.Name)
	}
	return (after - before) / time.Duration(calls.Load()*int64(max(m.records, 1))), nil
}
