package main

import (
	"context"
	"fmt"
	"strconv"
	"syscall"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/enrichd/enrichd/loadtest/drive"
	"github.com/enrichd/enrichd/loadtest/fleet"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/providers/fakevendor"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

// fewCallers keep Redis from being late, so that only what is needed is asked.
const fewCallers = 8

// tripsPerLead is row R2. Quotas are local here: row R1 has theirs.
func tripsPerLead(ctx context.Context, b *bench) (result, error) {
	redis, err := b.redis(ctx)
	if err != nil {
		return result{}, err
	}
	empty, _, err := holds(ctx, redis)
	if err != nil {
		return result{}, err
	}
	const leads = 2000
	local := fleet.Config{"quota": fleet.Config{"redis": fleet.Config{"addresses": []string{}}}}
	trips := func(service *fleet.Replica, question func(int64) *enrichv1.EnrichRequest) (float64, error) {
		client, err := b.client(service.Current())
		if err != nil {
			return 0, err
		}
		ask := func(from, to int64) error {
			return askAll(ctx, fewCallers, to-from, func(ctx context.Context, n int64) error {
				_, err := client.Enrich(ctx, question(from+n))
				return err
			})
		}
		if err := ask(leads, leads+200); err != nil { // connections are opened
			return 0, err
		}
		before, err := redis.Trips(ctx)
		if err != nil {
			return 0, err
		}
		if err := ask(0, leads); err != nil {
			return 0, err
		}
		pause(ctx, 500*time.Millisecond) // writes that come after the answer
		after, err := redis.Trips(ctx)
		return float64(after-before-1) / leads, err
	}
	service, _, err := b.hot(ctx, redis.Address, local)
	if err != nil {
		return result{}, err
	}
	pause(ctx, time.Second)
	memory, err := trips(service, func(n int64) *enrichv1.EnrichRequest { return question(n % hotLeads) })
	if err != nil {
		return result{}, err
	}
	missed, err := trips(service, func(n int64) *enrichv1.EnrichRequest { return fresh(5_000_000 + n) })
	if err != nil {
		return result{}, err
	}
	without, _, err := b.hot(ctx, redis.Address, fleet.Merge(local, fleet.Config{"cache": fleet.Config{"memory_bytes": -1}}))
	if err != nil {
		return result{}, err
	}
	recalled, err := trips(without, func(n int64) *enrichv1.EnrichRequest { return question(n % hotLeads) })
	if err != nil {
		return result{}, err
	}
	held, keys, err := holds(ctx, redis)
	return result{
		value: fmt.Sprintf("%.2f; %.2f; %.2f", memory, recalled, missed),
		detail: fmt.Sprintf("times that Redis read from a connection; a miss asks for a person alone; %d callers; Redis holds %d keys of %d bytes each",
			fewCallers, keys, (held-empty)/max(keys, 1)),
	}, err
}

// holds is what Redis keeps in memory, and how many keys.
func holds(ctx context.Context, redis *fleet.Redis) (bytes, keys int64, err error) {
	memory, err := redis.Info(ctx, "memory")
	if err != nil {
		return 0, 0, err
	}
	space, err := redis.Info(ctx, "keyspace")
	if err != nil {
		return 0, 0, err
	}
	_, _ = fmt.Sscanf(space["db0"], "keys=%d,", &keys) // no keys, no line
	bytes, err = strconv.ParseInt(memory["used_memory_dataset"], 10, 64)
	return bytes, keys, err
}

// limitingTrips is row R1: three replicas with a backlog in front of a strict
// vendor, and a Redis that only their quotas use.
func limitingTrips(ctx context.Context, b *bench) (result, error) {
	vendors, err := fleet.StartVendors(fakevendor.Config{Seed: 1, Vendors: map[string]fakevendor.Vendor{vendorName: {
		Data:   &fakevendor.Data{},
		Limits: fakevendor.Limits{Rules: []strict.Limit{{Name: "rate", Shape: strict.TokenBucket, Amount: 50, Window: time.Second, Burst: 20}}, Bans: []strict.Ban{}},
	}}})
	if err != nil {
		return result{}, err
	}
	b.later(vendors.Stop)
	redis, err := b.redis(ctx)
	if err != nil {
		return result{}, err
	}
	config := fleet.Merge(fleet.BaseConfig(""), fleet.Config{
		"quota":     fleet.Config{"redis": fleet.Config{"addresses": []string{redis.Address}}},
		"providers": fleet.Config{"list": []any{vendors.Provider(vendorName, vendorName, fleet.Config{"limits": fleet.Limits([]strict.Limit{{Name: "rate", Shape: strict.TokenBucket, Amount: 50, Window: time.Second, Burst: 20}})})}},
	})
	var clients []enrichv1.EnrichServiceClient
	for range 3 {
		service, err := b.service(ctx, config)
		if err != nil {
			return result{}, err
		}
		client, err := b.client(service.Current())
		if err != nil {
			return result{}, err
		}
		clients = append(clients, client)
	}
	const warmUp, counted, backlog = 3 * time.Second, 20 * time.Second, 3000
	loading, cancel := context.WithTimeout(ctx, warmUp+counted)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		drive.Closed(loading, backlog, func(ctx context.Context, n int64) bool {
			asked := fresh(n)
			asked.Lane, asked.Budget = enrichv1.Lane_LANE_BULK, durationpb.New(5*time.Minute)
			if _, err := clients[n%3].Enrich(ctx, asked); err != nil {
				pause(ctx, 200*time.Millisecond)
			}
			return true
		})
	}()
	pause(ctx, warmUp)
	tripsBefore, err := redis.Trips(ctx)
	if err != nil {
		return result{}, err
	}
	callsBefore := vendors.Summary(vendorName).Calls
	pause(ctx, counted-time.Second)
	trips, err := redis.Trips(ctx)
	calls := vendors.Summary(vendorName).Calls - callsBefore
	cancel()
	<-ended
	if calls == 0 {
		return result{}, fmt.Errorf("no vendor calls")
	}
	return result{
		value:  ratio(float64(trips-tripsBefore-1) / float64(calls)),
		detail: fmt.Sprintf("%d trips for %d calls at 50/s, three replicas, %d leads waiting", trips-tripsBefore-1, calls, backlog),
	}, err
}

// redisAway is row R3: new leads one after the other, their medians with Redis,
// with it hung, and with it gone, beside a service that has no Redis at all.
func redisAway(ctx context.Context, b *bench) (result, error) {
	vendors, err := b.vendor()
	if err != nil {
		return result{}, err
	}
	redis, err := b.redis(ctx)
	if err != nil {
		return result{}, err
	}
	local := fleet.Config{"quota": fleet.Config{"redis": fleet.Config{"addresses": []string{}}}}
	with, err := b.service(ctx, fleet.Merge(withVendor(vendors, redis.Address), local))
	if err != nil {
		return result{}, err
	}
	without, err := b.service(ctx, withVendor(vendors, ""))
	if err != nil {
		return result{}, err
	}
	first := int64(10_000_000)
	medianOf := func(service *fleet.Replica) (time.Duration, error) {
		client, err := b.client(service.Current())
		if err != nil {
			return 0, err
		}
		recorder := drive.NewRecorder()
		for n := range int64(520) {
			begin := time.Now()
			if _, err := client.Enrich(ctx, fresh(first+n)); err != nil {
				return 0, err
			}
			if n >= 20 {
				recorder.Answer(drive.Answer{Code: "OK"}, begin, time.Now())
			}
		}
		first += 1000
		return time.Duration(recorder.Tally().P50 * float64(time.Second)), nil
	}
	var medians []time.Duration
	for _, change := range []func() error{
		func() error { return nil },
		func() error { return redis.Signal(syscall.SIGSTOP) },
		func() error { _ = redis.Signal(syscall.SIGCONT); redis.Kill(); return nil },
	} {
		if err := change(); err != nil {
			return result{}, err
		}
		median, err := medianOf(with)
		if err != nil {
			return result{}, err
		}
		medians = append(medians, median)
	}
	bare, err := medianOf(without)
	return result{
		value:  fmt.Sprintf("%.2f; %.2f ms", milliseconds(max(medians[1]-bare, 0)), milliseconds(max(medians[2]-bare, 0))),
		detail: fmt.Sprintf("medians: no Redis configured %.2f ms, Redis there %.2f, hung %.2f, gone %.2f", milliseconds(bare), milliseconds(medians[0]), milliseconds(medians[1]), milliseconds(medians[2])),
	}, err
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }
