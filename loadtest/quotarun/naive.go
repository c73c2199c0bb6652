package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	clients = 3
	workers = 32 // of each client
)

// runBackoff calls as fast as it can and backs off when refused: twice as long
// each time, from 250 ms to 5 s, or as long as Retry-After says.
func runBackoff(ctx context.Context, vendor *vendor, _ rule) error {
	return vendor.during(ctx, func(ctx context.Context) {
		callAll(ctx, vendor, func(int) *rate.Limiter { return nil })
	})
}

// runRate paces each client with a token bucket of the rule's rate over a part.
func runRate(ctx context.Context, vendor *vendor, rule rule, part int) error {
	perSecond := float64(rule.limit.Amount) / rule.limit.Window.Seconds() / float64(part)
	burst := max(int(max(rule.limit.Burst, 1))/part, 1)
	limiters := make([]*rate.Limiter, clients)
	return vendor.during(ctx, func(ctx context.Context) {
		for i := range limiters {
			limiters[i] = rate.NewLimiter(rate.Limit(perSecond), burst)
		}
		callAll(ctx, vendor, func(client int) *rate.Limiter { return limiters[client] })
	})
}

// callAll has the workers of all clients call for lead after lead until ctx
// ends.
func callAll(ctx context.Context, vendor *vendor, limiterOf func(client int) *rate.Limiter) {
	transport := &http.Transport{MaxIdleConnsPerHost: clients * workers}
	defer transport.CloseIdleConnections()
	caller := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	var lead atomic.Int64
	var working sync.WaitGroup
	for client := range clients {
		for range workers {
			working.Go(func() {
				for ctx.Err() == nil {
					callUntilDone(ctx, caller, vendor, limiterOf(client), lead.Add(1))
				}
			})
		}
	}
	working.Wait()
}

func callUntilDone(ctx context.Context, caller *http.Client, vendor *vendor, limiter *rate.Limiter, lead int64) {
	for wait := 250 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		if limiter != nil && limiter.Wait(ctx) != nil {
			return
		}
		refusal, done := call(ctx, caller, vendor, lead)
		if done {
			return
		}
		select {
		case <-time.After(max(refusal, wait) + rand.N(wait)):
		case <-ctx.Done():
			return
		}
	}
}

// call makes one call, and tells how long a refusal says to wait.
func call(ctx context.Context, caller *http.Client, vendor *vendor, lead int64) (refusal time.Duration, done bool) {
	target := vendor.url + "/v5/person/enrich?" + url.Values{"email": {leadAddress(lead)}}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return 0, true
	}
	request.Header.Set("X-Api-Key", "k")
	response, err := caller.Do(request)
	if err != nil {
		return 0, ctx.Err() != nil
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusTooManyRequests {
		return 0, true
	}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return time.Duration(seconds) * time.Second, false
}

// leadAddress is the address of the nth lead.
func leadAddress(n int64) string { return fmt.Sprintf("lead.number%d@company%d.example", n, n%97) }
