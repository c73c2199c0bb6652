// Package naive calls a vendor the way that is usually done, so that what a
// shared quota brings can be measured beside it.
package naive

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/enrichd/enrichd/loadtest/workload"
)

const (
	// Clients that share a vendor's account without knowing of each other.
	Clients = 3
	workers = 32 // of each client
)

// Policy is one way to call.
type Policy struct {
	Name string
	// part of the quota that each client takes; 0: no limiter.
	part int
}

// Policies that are usual.
var Policies = []Policy{
	{"backoff, no limiter", 0},
	{"x/time/rate, a third each", Clients},
	{"x/time/rate, all on each", 1},
}

// Call has all clients call the vendor for lead after lead until ctx ends.
// perSecond and burst are the vendor's limit. A refused call is repeated after
// a wait that doubles from 250 ms to 5 s, or after Retry-After when that is
// longer.
func (p Policy) Call(ctx context.Context, vendorURL string, perSecond float64, burst int) {
	transport := &http.Transport{MaxIdleConnsPerHost: Clients * workers}
	defer transport.CloseIdleConnections()
	caller := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	var lead atomic.Int64
	var working sync.WaitGroup
	for range Clients {
		var limiter *rate.Limiter
		if p.part > 0 {
			limiter = rate.NewLimiter(rate.Limit(perSecond/float64(p.part)), max(burst/p.part, 1))
		}
		for range workers {
			working.Go(func() {
				for ctx.Err() == nil {
					callUntilDone(ctx, caller, vendorURL, limiter, lead.Add(1))
				}
			})
		}
	}
	working.Wait()
}

func callUntilDone(ctx context.Context, caller *http.Client, vendorURL string, limiter *rate.Limiter, lead int64) {
	for wait := 250 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		if limiter != nil && limiter.Wait(ctx) != nil {
			return
		}
		hint, done := call(ctx, caller, vendorURL, lead)
		if done {
			return
		}
		select {
		case <-time.After(max(hint, wait) + rand.N(wait)):
		case <-ctx.Done():
			return
		}
	}
}

// call makes one call, and tells how long a refusal says to wait.
func call(ctx context.Context, caller *http.Client, vendorURL string, lead int64) (hint time.Duration, done bool) {
	target := vendorURL + "/v5/person/enrich?" + url.Values{"email": {workload.Address("naive", lead)}}.Encode()
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
