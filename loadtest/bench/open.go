package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/loadtest/bench/floor"
	"github.com/enrichd/enrichd/loadtest/drive"
)

const openRate = 10_000

// openLoop is row C5. The echo and the service take turns, and the ratio is the
// median over rounds of what each round gave.
func openLoop(ctx context.Context, b *bench) (result, error) {
	service, answer, err := b.hot(ctx, "", nil)
	if err != nil {
		return result{}, err
	}
	ours, err := b.unary(service.Current())
	if err != nil {
		return result{}, err
	}
	size := proto.Size(answer)
	echo, err := b.echo(ctx, floor.EchoMethod, size, size)
	if err != nil {
		return result{}, err
	}
	if err := pin(b.Client); err != nil {
		return result{}, err
	}
	var ratios, own, bare []float64
	for range b.Rounds {
		floor, err := echo.openRound(ctx, b.Length)
		if err != nil {
			return result{}, err
		}
		service, err := ours.openRound(ctx, b.Length)
		if err != nil {
			return result{}, err
		}
		ratios, own, bare = append(ratios, service.P99/floor.P99), append(own, service.P99), append(bare, floor.P99)
	}
	slices.Sort(ratios)
	return result{
		value:  ratio(ratios[len(ratios)/2]),
		detail: fmt.Sprintf("least P99 %.2f ms over %.2f ms; ratios of rounds %.2f to %.2f", 1e3*slices.Min(own), 1e3*slices.Min(bare), ratios[0], ratios[len(ratios)-1]),
	}, ctx.Err()
}

func (m *measured) openRound(ctx context.Context, length time.Duration) (drive.Latencies, error) {
	recorder := drive.NewRecorder()
	var failed atomic.Pointer[error]
	round, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	drive.Open(round, openRate, 4096, func(_ context.Context, n int64, intended time.Time) bool {
		if err := m.call(ctx, n); err != nil {
			failed.CompareAndSwap(nil, &err)
			return false
		}
		recorder.Answer(drive.Answer{Code: "OK"}, intended, time.Now())
		return true
	})
	if failure := failed.Load(); failure != nil {
		return drive.Latencies{}, *failure
	}
	return recorder.Tally().Latencies, nil
}
