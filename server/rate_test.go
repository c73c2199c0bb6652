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
