package router

import (
	"context"
	"sync"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// testQuota is a token bucket per provider, pauses, and a count of what is out.
type testQuota struct {
	mu      sync.Mutex
	buckets map[string]*testBucket
	pauses  map[string]testPause
	out     int // permits neither settled nor returned
	spent   enrich.Micros
}

type testBucket struct {
	tokens, burst float64
	each          time.Duration // until one token flows in
	at            time.Time
}

type testPause struct {
	until  time.Time
	reason enrich.PauseReason
}

func newTestQuota() *testQuota {
	return &testQuota{buckets: map[string]*testBucket{}, pauses: map[string]testPause{}}
}

func (q *testQuota) limit(provider string, amount int, per time.Duration) {
	q.buckets[provider] = &testBucket{tokens: float64(amount), burst: float64(amount), each: per / time.Duration(amount), at: time.Now()}
}

// forecast is Forecast without the lock.
func (q *testQuota) forecast(spend Spend) Refusal {
	now := time.Now()
	if pause, ok := q.pauses[spend.Provider]; ok && (pause.until.IsZero() || pause.until.After(now)) {
		return Refusal{ReadyAt: pause.until, Reason: enrich.ReasonPaused, Pause: pause.reason}
	}
	if b := q.buckets[spend.Provider]; b != nil {
		b.tokens = min(b.burst, b.tokens+float64(now.Sub(b.at))/float64(b.each))
		b.at = now
		if b.tokens < 1 {
			return Refusal{ReadyAt: now.Add(time.Duration((1-b.tokens)*float64(b.each)) + 1), Reason: enrich.ReasonNoToken}
		}
	}
	return Refusal{}
}

func (q *testQuota) Forecast(spend Spend) Refusal {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.forecast(spend)
}

func (q *testQuota) Acquire(ctx context.Context, spend Spend) (Permit, error) {
	deadline, _ := ctx.Deadline()
	for {
		q.mu.Lock()
		refusal := q.forecast(spend)
		if refusal.Reason == "" {
			if b := q.buckets[spend.Provider]; b != nil {
				b.tokens--
			}
			q.out++
			q.mu.Unlock()
			return &testPermit{quota: q, spend: spend}, nil
		}
		q.mu.Unlock()
		if refusal.ReadyAt.IsZero() || refusal.ReadyAt.After(deadline) {
			return nil, &refusal
		}
		if !sleep(ctx, time.Until(refusal.ReadyAt)) {
			return nil, ctx.Err()
		}
	}
}

func (q *testQuota) Pause(provider string, until time.Time, reason enrich.PauseReason) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if old, ok := q.pauses[provider]; ok && (old.until.IsZero() || !until.IsZero() && old.until.After(until)) {
		return
	}
	q.pauses[provider] = testPause{until, reason}
}

func (q *testQuota) Resume(provider string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.pauses, provider)
}

type testPermit struct {
	quota *testQuota
	spend Spend
	over  bool
}

func (p *testPermit) Settle(charge enrich.Charge, _ []enrich.LimitState) {
	p.end()
	p.quota.spent += charge.Micros
	p.quota.mu.Unlock()
}

func (p *testPermit) Return() {
	p.end()
	if b := p.quota.buckets[p.spend.Provider]; b != nil {
		b.tokens++
	}
	p.quota.mu.Unlock()
}

// end leaves the quota locked.
func (p *testPermit) end() {
	p.quota.mu.Lock()
	if p.over {
		panic("a permit was ended twice")
	}
	p.over = true
	p.quota.out--
}
