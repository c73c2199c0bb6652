package main

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/loadtest/bench/floor"
	"github.com/enrichd/enrichd/loadtest/fleet"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// together is how many leads one exchange of rows C4 and C7b asks for.
const together = 100

// batch is row C4.
func batch(ctx context.Context, b *bench) (result, error) {
	return b.many(ctx, func(process *fleet.Process) (func(context.Context, int64) error, error) {
		connection, err := b.unreading(process)
		return func(ctx context.Context, n int64) error {
			return enrichBatch(ctx, connection, n, known(n))
		}, err
	})
}

// stream is row C4s: every worker keeps one stream open and asks a hundred
// leads ahead. Streams outlive a round.
func stream(running context.Context, b *bench) (result, error) {
	return b.many(running, func(process *fleet.Process) (func(context.Context, int64) error, error) {
		connection, err := b.unreading(process)
		streams := sync.Pool{}
		return func(_ context.Context, n int64) error {
			open, _ := streams.Get().(grpc.ClientStream)
			if open == nil {
				var err error
				if open, err = openStream(running, connection); err != nil {
					return err
				}
			}
			if err := enrichAhead(open, known(n)); err != nil {
				return err
			}
			streams.Put(open)
			return nil
		}, err
	})
}

// many measures a way to ask for many leads at once over the unary echo.
func (b *bench) many(ctx context.Context, way func(*fleet.Process) (func(context.Context, int64) error, error)) (result, error) {
	service, answer, err := b.hot(ctx, "", nil)
	if err != nil {
		return result{}, err
	}
	call, err := way(service.Current())
	if err != nil {
		return result{}, err
	}
	size := proto.Size(answer)
	echo, err := b.echo(ctx, floor.EchoMethod, size, size)
	if err != nil {
		return result{}, err
	}
	ours := &measured{process: service.Current(), call: call, records: together}
	if err := b.takeTurns(ctx, ours, echo); err != nil {
		return result{}, err
	}
	return ours.over(echo), nil
}

// known asks for the nth hundred of the leads that the service knows.
func known(n int64) []*enrichv1.EnrichRequest {
	return hundred(n*together, func(lead int64) *enrichv1.EnrichRequest { return question(lead % hotLeads) })
}

// hundred asks for a hundred leads from the first on.
func hundred(first int64, ask func(lead int64) *enrichv1.EnrichRequest) []*enrichv1.EnrichRequest {
	all := make([]*enrichv1.EnrichRequest, together)
	for i := range all {
		all[i] = ask(first + int64(i))
	}
	return all
}
