package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/enrichd/enrichd/loadtest/drive"
	"github.com/enrichd/enrichd/loadtest/fleet"
	"github.com/enrichd/enrichd/loadtest/naive"
	"github.com/enrichd/enrichd/loadtest/results"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/providers/fakevendor"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

// drain is a run of three replicas, and of naive clients, with more leads than a
// strict vendor's limit lets through.
type drain struct {
	limit strict.Limit
	bans  []strict.Ban
	// skew is how far the vendor's clock is ahead.
	skew time.Duration
	// atOne has all leads enter at one replica.
	atOne bool
	// kill ends one replica at a third of the run.
	kill bool
	// took makes every call take that long; 0: 120 ms at the median.
	took time.Duration
	// naive also measures the usual policies.
	naive bool
}

var (
	bucket     = strict.Limit{Name: "rate", Shape: strict.TokenBucket, Amount: 10, Window: time.Second, Burst: 20}
	tenSecond  = strict.Limit{Name: "window", Shape: strict.Fixed, Amount: 100, Window: 10 * time.Second}
	oneSecond  = strict.Limit{Name: "window", Shape: strict.Fixed, Amount: 10, Window: time.Second}
	slidingTen = strict.Limit{Name: "log", Shape: strict.Sliding, Amount: 100, Window: 10 * time.Second, CountRefused: true}
	slidingOne = strict.Limit{Name: "log", Shape: strict.Sliding, Amount: 10, Window: time.Second}
	sixAtOnce  = strict.Limit{Name: "concurrency", Shape: strict.Concurrency, Amount: 6}
	hardBan    = []strict.Ban{{After: 20, Within: 10 * time.Second, For: 30 * time.Second}}
)

// drainRows are the rows of real time next to quota's own in virtual time. They
// are shorter, so what must be reached is a little less.
var drainRows = []row{
	{name: "Q1", what: "token bucket 10/s: done/ideal · 429s per 10,000", must: "≥ .95 · ≤ 10", aim: "≥ .99 · 0", long: true, measure: drain{limit: bucket, naive: true}.measure},
	{name: "Q1w", what: "fixed 100 per 10 s", must: "≥ .95 · ≤ 10", aim: "≥ .99 · 0", long: true, measure: drain{limit: tenSecond, naive: true}.measure},
	{name: "Q3", what: "token bucket, all leads at one replica", must: "≥ .95 · ≤ 10", aim: "≥ .99 · 0", long: true, measure: drain{limit: bucket, atOne: true}.measure},
	{name: "Q3k", what: "fixed 100 per 10 s, one replica killed", must: "≥ .93 · ≤ 10", aim: "≥ .99 · 0", long: true, measure: drain{limit: tenSecond, kill: true}.measure},
	{name: "Q4", what: "fixed 10 per 1 s", must: "≥ .95 · ≤ 10", aim: "≥ .99 · 0", long: true, measure: drain{limit: oneSecond, naive: true}.measure},
	{name: "Q4s", what: "fixed 10 per 1 s, vendor's clock 250 ms ahead", must: "≥ .95 · ≤ 25", aim: "≥ .99 · 0", long: true, measure: drain{limit: oneSecond, skew: 250 * time.Millisecond}.measure},
	{name: "Q5", what: "sliding 100 per 10 s, refused calls count", must: "≥ .95 · ≤ 10", aim: "≥ .99 · 0", long: true, measure: drain{limit: slidingTen, naive: true}.measure},
	{name: "Q5s", what: "sliding 10 per 1 s", must: "≥ .88 · ≤ 10", aim: "≥ .90 · 0", long: true, measure: drain{limit: slidingOne}.measure},
	{name: "Q5c", what: "6 at once, calls of 400 ms", must: "≥ .93 · ≤ 10", aim: "≥ .97 · 0", long: true, measure: drain{limit: sixAtOnce, took: 400 * time.Millisecond}.measure},
	{name: "Q6", what: "fixed 100 per 10 s, 20 refusals ban for 30 s", must: "≥ .95 · ≤ 10", aim: "≥ .99 · 0", long: true, measure: drain{limit: tenSecond, bans: hardBan, naive: true}.measure},
}

// measure runs three replicas, and the naive clients if they are wanted.
func (d drain) measure(ctx context.Context, b *bench) (result, error) {
	if err := pinAny(); err != nil {
		return result{}, err
	}
	var answered atomic.Int64
	ours, calls, err := d.run(ctx, b, results.Service, b.Drain, func(ctx context.Context, b *bench, vendors *fleet.Vendors) (work, error) {
		return d.fleet(ctx, b, vendors, &answered)
	})
	if err != nil {
		return result{}, err
	}
	measured := result{
		value:  ours.String(),
		detail: fmt.Sprintf("%d answers of %d calls in %s", answered.Load(), calls, b.Drain),
		drains: []results.Drain{ours},
	}
	if !d.naive {
		return measured, nil
	}
	length := min(b.Drain, naiveDrain)
	others := []string{measured.detail}
	for _, policy := range naive.Policies {
		theirs, _, err := d.run(ctx, b, policy.Name, length, func(_ context.Context, _ *bench, vendors *fleet.Vendors) (work, error) {
			perSecond, burst := float64(d.limit.Amount)/d.limit.Window.Seconds(), int(max(d.limit.Burst, 1))
			return func(ctx context.Context) { policy.Call(ctx, vendors.URL(vendorName), perSecond, burst) }, nil
		})
		if err != nil {
			return result{}, err
		}
		measured.drains = append(measured.drains, theirs)
		others = append(others, fmt.Sprintf("%s %s in %s", theirs.Policy, theirs, length))
	}
	measured.detail = strings.Join(others, "; ")
	return measured, nil
}

// naiveDrain is the length of a usual policy's run: a refusal more or less says
// nothing among its many.
const naiveDrain = 30 * time.Second

// work asks until ctx ends.
type work func(ctx context.Context)

// run starts a vendor that tells in seconds how long to wait, and who calls it by
// that policy, and counts in the vendor's ledger from the beginning of a window until
// the run's length has passed.
func (d drain) run(ctx context.Context, b *bench, policy string, length time.Duration, prepare func(context.Context, *bench, *fleet.Vendors) (work, error)) (drained results.Drain, calls int64, err error) {
	latency := fakevendor.Latency{Median: 120 * time.Millisecond, Sigma: 0.4}
	if d.took > 0 {
		latency = fakevendor.Latency{Median: d.took}
	}
	bans := d.bans
	if bans == nil {
		bans = []strict.Ban{}
	}
	vendors, err := fleet.StartVendors(fakevendor.Config{Seed: 1, Vendors: map[string]fakevendor.Vendor{vendorName: {
		Data:   &fakevendor.Data{},
		Limits: fakevendor.Limits{Rules: []strict.Limit{d.limit}, Bans: bans, ClockSkew: d.skew, Hint: fakevendor.Hint{Form: "seconds"}},
		Faults: fakevendor.Faults{Latency: latency},
	}}})
	if err != nil {
		return results.Drain{}, 0, err
	}
	b.later(vendors.Stop)
	ask, err := prepare(ctx, b, vendors)
	if err != nil {
		return results.Drain{}, 0, err
	}
	begin := time.Now().Truncate(10 * time.Second).Add(10*time.Second - d.skew)
	pause(ctx, time.Until(begin))
	working, cancel := context.WithDeadline(ctx, begin.Add(length))
	defer cancel()
	ended := make(chan struct{})
	go func() { ask(working); close(ended) }()
	<-working.Done()
	summary := vendors.Summary(vendorName)
	<-ended
	if ctx.Err() != nil {
		return results.Drain{}, 0, ctx.Err()
	}
	if summary.Calls == 0 {
		return results.Drain{}, 0, errors.New("no call reached the vendor")
	}
	return results.Drain{
		Policy:  policy,
		Done:    float64(summary.Calls-summary.RateLimited) / d.ideal(length),
		Refused: 10_000 * float64(summary.RateLimited) / float64(summary.Calls),
	}, summary.Calls, nil
}

// ideal is how many calls the limit allows in a run that begins with a window.
func (d drain) ideal(length time.Duration) float64 {
	switch d.limit.Shape {
	case strict.Concurrency:
		return float64(d.limit.Amount) * length.Seconds() / d.took.Seconds()
	case strict.TokenBucket:
		return float64(d.limit.Burst) + float64(d.limit.Amount)*length.Seconds()/d.limit.Window.Seconds()
	default:
		return float64(d.limit.Amount) * length.Seconds() / d.limit.Window.Seconds()
	}
}

// fleet starts Redis and three replicas, keeps a backlog in front of them and counts
// what they answer.
func (d drain) fleet(ctx context.Context, b *bench, vendors *fleet.Vendors, answered *atomic.Int64) (work, error) {
	redis, err := fleet.StartRedis(ctx, b.dir, fleet.AnyCore)
	if err != nil {
		return nil, err
	}
	b.later(redis.Stop)
	limits := fleet.Config{"limits": fleet.Limits([]strict.Limit{d.limit})}
	config := fleet.Merge(fleet.BaseConfig(redis.Address), fleet.Config{
		"providers": fleet.Config{"list": []any{vendors.Provider(vendorName, vendorName, limits)}},
	})
	var replicas []*fleet.Replica
	var clients []enrichv1.EnrichServiceClient
	for i := range 3 {
		replica, err := fleet.StartReplica(ctx, b.binary, b.dir, fmt.Sprintf("drain%d-%d", len(b.ending), i), fleet.Merge(config, b.over), fleet.AnyCore)
		if err != nil {
			return nil, err
		}
		b.later(replica.Stop)
		client, err := b.client(replica.Current())
		if err != nil {
			return nil, err
		}
		replicas, clients = append(replicas, replica), append(clients, client)
	}
	return func(ctx context.Context) {
		if d.kill {
			defer time.AfterFunc(b.Drain/3, replicas[1].Current().Kill).Stop()
		}
		const backlog = 256 // in front of each replica
		drive.Closed(ctx, 3*backlog, func(ctx context.Context, n int64) bool {
			at := n % 3
			if d.atOne || (at == 1 && replicas[1].Current().Ended()) {
				at = 0
			}
			asked := fresh(n)
			asked.Lane, asked.Budget = enrichv1.Lane_LANE_BULK, durationpb.New(2*time.Minute)
			if answer, err := clients[at].Enrich(ctx, asked); err != nil {
				pause(ctx, 200*time.Millisecond)
			} else if answer.GetPerson() != nil {
				answered.Add(1)
			}
			return true
		})
	}, nil
}
