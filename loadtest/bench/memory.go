package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/loadtest/fleet"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// settle is how long a process gets to free what it holds no longer.
const settle = 3 * time.Second

// fullMemory is row C6: two services take turns, one that knows few leads and one
// whose memory tier has been filled, and which is asked for all of them alike.
func fullMemory(ctx context.Context, b *bench) (result, error) {
	room := fleet.Config{"cache": fleet.Config{"memory_bytes": 3 << 30}} // for all, and their answers
	small, _, err := b.hot(ctx, "", room)
	if err != nil {
		return result{}, err
	}
	large, answer, err := b.hot(ctx, "", room)
	if err != nil {
		return result{}, err
	}
	few, err := b.unary(small.Current())
	if err != nil {
		return result{}, err
	}
	client, err := b.client(large.Current())
	if err != nil {
		return result{}, err
	}
	before, err := large.Current().Usage(ctx)
	if err != nil {
		return result{}, err
	}
	// From vendors, from memory, as it was sent, and until garbage has been through
	// all the room it gets.
	const times = 4
	for range times {
		if err := ask(ctx, client, int64(b.Leads)); err != nil {
			return result{}, err
		}
	}
	connection, err := b.unreading(large.Current())
	if err != nil {
		return result{}, err
	}
	var asked atomic.Int64
	many := &measured{process: large.Current(), call: func(ctx context.Context, _ int64) error {
		return enrich(ctx, connection, question(asked.Add(1)*7919%int64(b.Leads)))
	}}
	if err := b.takeTurns(ctx, few, many); err != nil {
		return result{}, err
	}
	after, err := large.Current().Usage(ctx)
	if err != nil {
		return result{}, err
	}
	payload := float64(proto.Size(answer) * b.Leads)
	measured := many.over(few)
	measured.detail += fmt.Sprintf("; %d leads, resident memory grew by %.2f of their answers' bytes (must ≤ 2.5, aim 1.6)", b.Leads, float64(after.RSS-before.RSS)/payload)
	return measured, nil
}

// idleMemory is row M1: the service with its vendors and Redis, asked nothing.
func idleMemory(ctx context.Context, b *bench) (result, error) {
	vendors, err := b.vendor()
	if err != nil {
		return result{}, err
	}
	redis, err := b.redis(ctx)
	if err != nil {
		return result{}, err
	}
	service, err := b.service(ctx, withVendor(vendors, redis.Address))
	if err != nil {
		return result{}, err
	}
	pause(ctx, settle)
	usage, err := service.Current().Usage(ctx)
	return result{value: mebibytes(usage.RSS), detail: fmt.Sprintf("%d threads, %d open files", usage.Threads, usage.Files)}, err
}

// memoryBound is row M1f: ten times as many leads as row C6's go through a small
// memory tier. Each is asked for three times, so that all that can be kept of it is.
func memoryBound(ctx context.Context, b *bench) (result, error) {
	const room = 256 << 20 // the default
	service, _, err := b.hot(ctx, "", fleet.Config{"cache": fleet.Config{"memory_bytes": room}})
	if err != nil {
		return result{}, err
	}
	client, err := b.client(service.Current())
	if err != nil {
		return result{}, err
	}
	var highest int64
	leads := int64(10 * b.Leads)
	const times, step = 3, 5000 // leads, for whose entries there is room
	for from := int64(0); from < leads; from += step {
		for range times {
			if err := askBetween(ctx, client, from, min(from+step, leads)); err != nil {
				return result{}, err
			}
		}
		usage, err := service.Current().Usage(ctx)
		if err != nil {
			return result{}, err
		}
		highest = max(highest, usage.RSS)
	}
	pause(ctx, settle)
	usage, err := service.Current().Usage(ctx)
	return result{
		value:  ratio(float64(usage.RSS) / room),
		detail: fmt.Sprintf("%d leads, %s at the end, %s at most, of %s configured", leads, mebibytes(usage.RSS), mebibytes(highest), mebibytes(room)),
	}, err
}

// askBetween asks once for each lead from one to another.
func askBetween(ctx context.Context, client enrichv1.EnrichServiceClient, from, to int64) error {
	return askAll(ctx, 64, to-from, func(ctx context.Context, n int64) error {
		_, err := client.Enrich(ctx, question(from+n))
		return err
	})
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20)) }
