package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/enrichd/enrichd/loadtest/bench/floor"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// miss is row C7: leads that nobody has asked for, each one call to a vendor,
// with both tiers and the quota in Redis.
func miss(ctx context.Context, b *bench) (result, error) { return b.missingAlone(ctx, workers) }

// manyMisses is row C7m: as many of them at once as a service has that is busy with
// misses, because vendors take a while.
func manyMisses(ctx context.Context, b *bench) (result, error) {
	return b.missingAlone(ctx, 4*batchWidth)
}

// missingAlone measures leads that are asked for one by one, so many at once.
func (b *bench) missingAlone(ctx context.Context, atOnce int) (result, error) {
	return b.missing(ctx, &measured{callers: atOnce}, atOnce, func(connection *grpc.ClientConn, first int64) func(context.Context, int64) error {
		return func(ctx context.Context, n int64) error {
			return enrich(ctx, connection, fresh(first+n))
		}
	})
}

// missBatch is row C7b: the same in batches, as a nightly import asks. Four of them
// at once have 256 calls under way, which is much for a vendor.
func missBatch(ctx context.Context, b *bench) (result, error) {
	const callers = 4
	return b.missing(ctx, &measured{records: together, callers: callers}, callers*batchWidth, func(connection *grpc.ClientConn, first int64) func(context.Context, int64) error {
		return func(ctx context.Context, n int64) error {
			return enrichBatch(ctx, connection, n, hundred(first+n*together, fresh))
		}
	})
}

// batchWidth is how many of a batch's questions are with vendors at once, unless
// enrich.batch_width says otherwise.
const batchWidth = 64

// missing measures a way to ask for leads that nobody has asked for, which has so
// many calls under way at most, as the bare client has; way begins each round at
// another lead.
func (b *bench) missing(ctx context.Context, ours *measured, underWay int, way func(connection *grpc.ClientConn, first int64) func(context.Context, int64) error) (result, error) {
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
	connection, err := b.unreading(service.Current())
	if err != nil {
		return result{}, err
	}
	ours.process = service.Current()
	exchange, err := b.floor(ctx, "exchange", "--vendor", vendors.URL(vendorName), "--redis", redis.Address)
	if err != nil {
		return result{}, err
	}
	plainly, err := b.unreading(exchange)
	if err != nil {
		return result{}, err
	}
	plain := &measured{process: exchange, records: ours.records, callers: ours.callers}
	if err := pin(b.Client); err != nil {
		return result{}, err
	}
	var bare []time.Duration
	for round := range b.Rounds + 1 {
		const leads = 1_000_000 // more than a round asks for
		ours.call, plain.call = way(connection, int64(round)*leads), way(plainly, int64(round+b.Rounds+1)*leads)
		cost, err := ours.round(ctx, b.Length)
		if err != nil {
			return result{}, err
		}
		plainCost, err := plain.round(ctx, b.Length)
		if err != nil {
			return result{}, err
		}
		least, err := b.bareCalls(ctx, vendors.URL(vendorName), underWay)
		if err != nil {
			return result{}, err
		}
		if round > 0 {
			ours.rounds, plain.rounds, bare = append(ours.rounds, cost), append(plain.rounds, plainCost), append(bare, least)
		}
	}
	calls := vendors.Summary(vendorName)
	measured := ours.over(&measured{rounds: bare})
	measured.detail += fmt.Sprintf("; %s over the libraries' bare exchange of %s; %d duplicates in %d vendor calls",
		ours.over(plain).value, micros(plain.least()), calls.Duplicates, calls.Calls)
	return measured, nil
}

// fresh asks for a person alone: one vendor call.
func fresh(n int64) *enrichv1.EnrichRequest {
	asked := question(n)
	asked.Fields = &fieldmaskpb.FieldMask{Paths: []string{"person"}}
	return asked
}

// bareCalls runs the floor of row C7 once, with so many calls under way, and
// returns its cost of a call.
func (b *bench) bareCalls(ctx context.Context, url string, underWay int) (time.Duration, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	command := exec.CommandContext(ctx, "taskset", slices.Concat([]string{"-c", strconv.Itoa(b.Server), self, "floor", "vendor"},
		[]string{"--vendor", url, "--workers", strconv.Itoa(underWay), "--calls", strconv.Itoa(max(int(b.Length/(400*time.Microsecond)), 1000))})...)
	command.Env = append(os.Environ(), "GOMAXPROCS=1")
	command.Stderr = os.Stderr
	text, err := command.Output()
	if err != nil {
		return 0, fmt.Errorf("bare client: %w", err)
	}
	var cost floor.Cost
	if err := json.Unmarshal(text, &cost); err != nil || cost.Calls == 0 {
		return 0, fmt.Errorf("bare client: no cost: %w", err)
	}
	return cost.CPU / time.Duration(cost.Calls), nil
}
