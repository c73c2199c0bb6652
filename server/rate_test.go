package server

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/enrichd/enrichd/enrich"
)

func callerAt(requests int64, window time.Duration) *Caller {
	return &Caller{Account: enrich.Account{Name: "sales"}, Rate: Rate{Requests: requests, Window: window}}
}

func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counted, caller := &rates{began: time.Now()}, callerAt(10, time.Minute)
		for left := int64(9); left >= 0; left-- {
			if got := counted.take(caller); got.wait != 0 || got.left != left {
				t.Fatalf("standing = %+v, want %d left", got, left)
			}
		}
		if got := counted.take(caller); got.wait != 6*time.Second || got.full != time.Minute {
			t.Errorf("over the rate: %+v, want a wait of 6 s", got)
		}
		if got := counted.take(&Caller{Account: enrich.Account{Name: "other"}, Rate: caller.Rate}); got.wait != 0 {
			t.Errorf("another account waits: %+v", got)
		}
		time.Sleep(6 * time.Second)
		if got := counted.take(caller); got.wait != 0 || got.left != 0 {
			t.Errorf("after the wait: %+v", got)
		}
		time.Sleep(time.Hour)
		if got := counted.take(caller); got.left != 9 {
			t.Errorf("after a rest: %+v, want no more than the rate", got)
		}
		counted.charge(caller, 100)
		if got := counted.take(caller); got.wait != 552*time.Second {
			t.Errorf("after a debt of 91 over the rate: %+v", got)
		}
	})
}

// TestANewRateRefillsNothing has an account's rate change while it owes: neither
// does it wait for what the new rate would let in, nor is it let in anew.
func TestANewRateRefillsNothing(t *testing.T) {
	for name, test := range map[string]struct {
		before, after Rate
		sent          int64         // requests before the change
		left          int64         // after one more
		wait          time.Duration // of one more
	}{
		"more a window":      {Rate{10, time.Minute}, Rate{1000, time.Minute}, 10, 989, 0},
		"a shorter window":   {Rate{10, 24 * time.Hour}, Rate{10, time.Minute}, 10, 0, 6 * time.Second},
		"a longer window":    {Rate{10, time.Minute}, Rate{10, time.Hour}, 10, 0, 6 * time.Minute},
		"fewer a window":     {Rate{1000, time.Minute}, Rate{10, time.Minute}, 500, 0, 6 * time.Second},
		"what a batch owes":  {Rate{10, time.Minute}, Rate{20, time.Minute}, 30, 0, 33 * time.Second},
		"nothing was sent":   {Rate{10, time.Minute}, Rate{20, time.Hour}, 0, 19, 0},
		"the longest window": {Rate{1, time.Hour}, Rate{1, 30 * 24 * time.Hour}, 1e9, 0, longestDebt},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				counted := &rates{began: time.Now()}
				if test.sent > 0 {
					counted.charge(callerAt(test.before.Requests, test.before.Window), test.sent)
				}
				got := counted.take(callerAt(test.after.Requests, test.after.Window))
				if got.left != test.left || got.wait.Round(time.Second) != test.wait.Round(time.Second) {
					t.Errorf("%d left, a wait of %s", got.left, got.wait)
				}
				back := counted.take(callerAt(test.before.Requests, test.before.Window))
				if again := counted.take(callerAt(test.after.Requests, test.after.Window)); again.left > got.left {
					t.Errorf("there and back again leaves %d after %d, by %+v", again.left, got.left, back)
				}
			})
		})
	}
}

func TestRatesLetNoMoreInSideBySide(t *testing.T) {
	counted, caller := &rates{began: time.Now()}, callerAt(100, time.Hour)
	var in atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				if counted.take(caller).wait == 0 {
					in.Add(1)
				}
			}
		})
	}
	all.Wait()
	if in.Load() != 100 {
		t.Errorf("%d requests were let in, want 100", in.Load())
	}
}

func TestRateLimitFieldsOnBothPaths(t *testing.T) {
	caller := ring()["sales-key"]
	caller.Rate = Rate{Requests: 3, Window: time.Hour}
	edge := start(t, answered, withAccounts(keyring{"sales-key": caller}))

	trailer, err := rateTrailers(t.Context(), edge, emailOf("x"))
	if err != nil || trailer.Get("ratelimit-policy")[0] != `"account";q=3;w=3600` || trailer.Get("ratelimit")[0] != `"account";r=2;t=1200` {
		t.Errorf("gRPC: %v, %v", trailer, err)
	}
	for _, left := range []string{"1", "0"} {
		code, header, _ := edge.ask(t, http.MethodPost, "/v1/enrich", `{"email":"x"}`, "X-Api-Key: sales-key")
		if code != http.StatusOK || header.Get("RateLimit-Policy") != `"account";q=3;w=3600` || header.Get("RateLimit")[:13] != `"account";r=`+left {
			t.Errorf("REST answered %d: %v", code, header)
		}
	}
	code, header, body := edge.ask(t, http.MethodPost, "/v1/enrich", `{"email":"x"}`, "X-Api-Key: sales-key")
	refused := failed(t, body)
	if code != http.StatusTooManyRequests || header.Get("Retry-After") != "1200" || header.Get("RateLimit")[:13] != `"account";r=0` ||
		detail[*errdetails.QuotaFailure](refused).GetViolations()[0].GetSubject() != "account" {
		t.Errorf("REST answered %d: %v %s", code, header, body)
	}
	trailer, err = rateTrailers(t.Context(), edge, emailOf("x"))
	if status.Code(err) != codes.ResourceExhausted || detail[*errdetails.RetryInfo](err).GetRetryDelay().AsDuration() <= 1190*time.Second || len(trailer.Get("ratelimit")) != 1 {
		t.Errorf("gRPC: %v with %v", err, trailer)
	}
}
