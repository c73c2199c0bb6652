package main

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/enrichd/enrichd/loadtest/bench/floor"
	"github.com/enrichd/enrichd/loadtest/drive"
	"github.com/enrichd/enrichd/loadtest/fleet"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/providers/fakevendor"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

const (
	vendorName = "peopledatalabs"
	hotLeads   = 1000 // asked for in turn while hits are measured
)

// lead is the address of the nth lead.
func lead(n int64) string { return fmt.Sprintf("lead.number%d@company%d.example", n, n%97) }

// vendor starts a vendor that knows everything, answers at once and has no
// limits.
func (b *bench) vendor() (*fleet.Vendors, error) {
	vendors, err := fleet.StartVendors(fakevendor.Config{Seed: 1, Vendors: map[string]fakevendor.Vendor{
		vendorName: {Data: &fakevendor.Data{}, Limits: fakevendor.Limits{Rules: []strict.Limit{}, Bans: []strict.Ban{}}},
	}})
	if err == nil {
		b.later(vendors.Stop)
	}
	return vendors, err
}

// unlimited is a limit that nothing here reaches: every call still passes
// through the quota.
var unlimited = fleet.Config{"limits": []any{fleet.Config{"name": "rate", "shape": "token_bucket", "amount": 1_000_000, "window": "1s", "burst": 1_000_000}}}

func withVendor(vendors *fleet.Vendors, redis string) fleet.Config {
	return fleet.Merge(fleet.BaseConfig(redis), fleet.Config{
		"providers": fleet.Config{"list": []any{vendors.Provider(vendorName, vendorName, unlimited)}},
	})
}

// hot starts a service that knows its leads already, and asks it once to learn
// how large an answer is.
func (b *bench) hot(ctx context.Context, redis string, over fleet.Config) (*fleet.Replica, *enrichv1.EnrichResponse, error) {
	vendors, err := b.vendor()
	if err != nil {
		return nil, nil, err
	}
	service, err := b.service(ctx, fleet.Merge(withVendor(vendors, redis), over))
	if err != nil {
		return nil, nil, err
	}
	client, err := b.client(service.Current())
	if err != nil {
		return nil, nil, err
	}
	if err := ask(ctx, client, hotLeads); err != nil {
		return nil, nil, err
	}
	answer, err := client.Enrich(ctx, question(0))
	return service, answer, err
}

// ask asks once for each of so many leads.
func ask(ctx context.Context, client enrichv1.EnrichServiceClient, leads int64) error {
	return askAll(ctx, workers, leads, func(ctx context.Context, n int64) error {
		_, err := client.Enrich(ctx, question(n))
		return err
	})
}

// askAll makes so many calls. One in a hundred may fail.
func askAll(ctx context.Context, callers int, calls int64, call func(ctx context.Context, n int64) error) error {
	var failures atomic.Int64
	var last atomic.Pointer[error]
	drive.Closed(ctx, callers, func(ctx context.Context, n int64) bool {
		if n >= calls {
			return false
		}
		if err := call(ctx, n); err != nil {
			failures.Add(1)
			last.Store(&err)
		}
		return true
	})
	if failure := last.Load(); failure != nil && failures.Load() > calls/100 {
		return fmt.Errorf("%d of %d calls failed: %w", failures.Load(), calls, *failure)
	}
	return ctx.Err()
}

func question(n int64) *enrichv1.EnrichRequest {
	return &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: lead(n)}}
}

func (b *bench) connect(address string, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	connection, err := grpc.NewClient(address, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err == nil {
		b.later(func() { connection.Close() })
	}
	return connection, err
}

func (b *bench) client(process *fleet.Process) (enrichv1.EnrichServiceClient, error) {
	connection, err := b.connect(process.GRPC)
	if err != nil {
		return nil, err
	}
	return enrichv1.NewEnrichServiceClient(connection), nil
}

// unary asks a service for its hot leads in turn.
func (b *bench) unary(process *fleet.Process) (*measured, error) {
	connection, err := b.unreading(process)
	return &measured{process: process, call: func(ctx context.Context, n int64) error {
		return enrich(ctx, connection, question(n%hotLeads))
	}}, err
}

// echo calls a floor's method with a payload of so many bytes.
func (b *bench) echo(ctx context.Context, method string, request, answer int) (*measured, error) {
	process, err := b.floor(ctx, "grpc", "--size", strconv.Itoa(answer))
	if err != nil {
		return nil, err
	}
	connection, err := b.unreading(process)
	payload := wrapperspb.Bytes(make([]byte, request))
	return &measured{process: process, call: func(ctx context.Context, _ int64) error {
		return connection.Invoke(ctx, method, payload, new(reply))
	}}, err
}

// memoryHit is row C1.
func memoryHit(ctx context.Context, b *bench) (result, error) {
	service, answer, err := b.hot(ctx, "", nil)
	if err != nil {
		return result{}, err
	}
	return b.hits(ctx, service, answer, enrichv1.CacheTier_CACHE_TIER_MEMORY)
}

// redisHit is row C2: without a memory tier every call asks Redis.
func redisHit(ctx context.Context, b *bench) (result, error) {
	redis, err := b.redis(ctx)
	if err != nil {
		return result{}, err
	}
	service, answer, err := b.hot(ctx, redis.Address, fleet.Config{"cache": fleet.Config{"memory_bytes": -1}})
	if err != nil {
		return result{}, err
	}
	return b.hits(ctx, service, answer, enrichv1.CacheTier_CACHE_TIER_REDIS)
}

// hits measures a warm service over the echo, and over a floor that is sent as
// little as the service is.
func (b *bench) hits(ctx context.Context, service *fleet.Replica, answer *enrichv1.EnrichResponse, tier enrichv1.CacheTier) (result, error) {
	for path, provenance := range answer.GetProvenance() {
		if provenance.GetTier() != tier && path != "company.employee_range" {
			return result{}, fmt.Errorf("%s came from %s, want %s", path, provenance.GetTier(), tier)
		}
	}
	size := proto.Size(answer)
	ours, err := b.unary(service.Current())
	if err != nil {
		return result{}, err
	}
	echo, err := b.echo(ctx, floor.EchoMethod, size, size)
	if err != nil {
		return result{}, err
	}
	fixed, err := b.echo(ctx, floor.FixedMethod, proto.Size(question(0)), size)
	if err != nil {
		return result{}, err
	}
	if err := b.takeTurns(ctx, ours, echo, fixed); err != nil {
		return result{}, err
	}
	measured := ours.over(echo)
	measured.detail += fmt.Sprintf("; answer %d bytes; %s over a fixed answer to a short request", size, ours.over(fixed).value)
	return measured, nil
}
