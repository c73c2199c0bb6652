package quota_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// drainCase is a backlog of leads against a strict vendor.
type drainCase struct {
	name    string
	limits  []enrich.Limit
	rules   func() []strict
	vendor  func(*vendor) // sets the vendor's habits
	leads   int
	phase   time.Duration // after midnight
	ideal   func(began time.Time) time.Duration
	least   float64 // ideal over measured
	refused float64 // at most per 10,000 calls
}

// run measures the case. Leads enter at the replica that enter says.
func (c drainCase) run(t *testing.T, start func(t *testing.T, limits ...enrich.Limit) []*quota.Keeper, enter func(i int) int) *result {
	time.Sleep(c.phase)
	replicas := start(t, c.limits...)
	v := newVendor(c.rules()...)
	if c.vendor != nil {
		c.vendor(v)
	}
	began := time.Now()
	r := drain(v, c.leads, func(i int) *quota.Keeper { return replicas[enter(i)%len(replicas)] })
	atLeast(t, c.name+": ideal/drain", c.ideal(began).Seconds()/r.drained().Seconds(), c.least)
	atMost(t, c.name+": refused per 10,000 calls", r.per10k(), c.refused)
	atMost(t, c.name+": calls per lead", float64(v.calls)/float64(c.leads), 1.02)
	return r
}

func inTurn(i int) int { return i }
func atOne(int) int    { return 0 }

// TestOneProcessDrains measures one process without Redis.
func TestOneProcessDrains(t *testing.T) {
	for _, c := range drainCases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.run(t, oneProcess, inTurn) })
		})
	}
}

var drainCases = []drainCase{
	{
		name:   "token bucket 10/s burst 20",
		limits: []enrich.Limit{bucket}, rules: func() []strict { return []strict{newStrictBucket(10, 20)} },
		leads: 600, ideal: func(time.Time) time.Duration { return 58 * time.Second }, least: .97,
	},
	{
		name:   "fixed 600/min from the middle",
		limits: []enrich.Limit{perMinute}, rules: func() []strict { return []strict{&strictFixed{amount: 600, length: time.Minute}} },
		leads: 6000, phase: 30 * time.Second,
		ideal: func(began time.Time) time.Duration { return idealFixed(began, 6000, 600, time.Minute) }, least: .97,
	},
	{
		name:   "fixed 600/min from the start, refused calls count, bans",
		limits: []enrich.Limit{perMinute}, rules: func() []strict {
			return []strict{&strictFixed{amount: 600, length: time.Minute, countsRefused: true}}
		},
		vendor: func(v *vendor) { v.ban = ban{20, 10 * time.Second, 30 * time.Second} },
		leads:  6000, phase: 500 * time.Millisecond,
		ideal: func(began time.Time) time.Duration { return idealFixed(began, 6000, 600, time.Minute) }, least: .97,
	},
	{
		name:   "fixed 10/s",
		limits: []enrich.Limit{{Name: "second", Shape: enrich.FixedWindow, Amount: 10, Window: time.Second}},
		rules:  func() []strict { return []strict{&strictFixed{amount: 10, length: time.Second}} },
		leads:  1000, phase: 300 * time.Millisecond,
		ideal: func(began time.Time) time.Duration { return idealFixed(began, 1000, 10, time.Second) }, least: .95, refused: 10,
	},
	{
		name:   "fixed 10/s, the vendor's clock 250 ms ahead",
		limits: []enrich.Limit{{Name: "second", Shape: enrich.FixedWindow, Amount: 10, Window: time.Second}},
		rules:  func() []strict { return []strict{&strictFixed{amount: 10, length: time.Second}} },
		vendor: func(v *vendor) { v.offset = 250 * time.Millisecond },
		leads:  3000,
		ideal:  func(began time.Time) time.Duration { return idealFixed(began, 3000, 10, time.Second) }, least: .95, refused: 25,
	},
	{
		name:   "fixed 10/s, the vendor's clock 250 ms behind",
		limits: []enrich.Limit{{Name: "second", Shape: enrich.FixedWindow, Amount: 10, Window: time.Second}},
		rules:  func() []strict { return []strict{&strictFixed{amount: 10, length: time.Second}} },
		vendor: func(v *vendor) { v.offset = -250 * time.Millisecond },
		leads:  3000,
		ideal:  func(began time.Time) time.Duration { return idealFixed(began, 3000, 10, time.Second) }, least: .95, refused: 25,
	},
	{
		name:   "sliding log 600/min, refused calls count",
		limits: []enrich.Limit{{Name: "minute", Shape: enrich.Sliding, Amount: 600, Window: time.Minute}},
		rules: func() []strict {
			return []strict{&strictSliding{amount: 600, length: time.Minute, countsRefused: true}}
		},
		leads: 6000, ideal: func(time.Time) time.Duration { return 9 * time.Minute }, least: .97,
	},
	{
		name:   "sliding log 10/s",
		limits: []enrich.Limit{{Name: "second", Shape: enrich.Sliding, Amount: 10, Window: time.Second}},
		rules:  func() []strict { return []strict{&strictSliding{amount: 10, length: time.Second}} },
		leads:  1000, ideal: func(time.Time) time.Duration { return 99 * time.Second }, least: .88,
	},
	{
		name: "10/s and 500/min together",
		limits: []enrich.Limit{
			{Name: "second", Shape: enrich.FixedWindow, Amount: 10, Window: time.Second},
			{Name: "minute", Shape: enrich.FixedWindow, Amount: 500, Window: time.Minute},
		},
		rules: func() []strict {
			return []strict{&strictFixed{amount: 10, length: time.Second}, &strictFixed{amount: 500, length: time.Minute}}
		},
		leads: 2500, ideal: func(began time.Time) time.Duration { return 4*time.Minute + 49*time.Second }, least: .93,
	},
	{
		name:   "6 at once",
		limits: []enrich.Limit{{Name: "at_once", Shape: enrich.Concurrency, Amount: 6}},
		rules:  func() []strict { return []strict{&strictSlots{amount: 6}} },
		vendor: func(v *vendor) { v.serve = func() time.Duration { return 400 * time.Millisecond } },
		leads:  1000,
		ideal:  func(time.Time) time.Duration { return 1000 * (426 * time.Millisecond) / 6 }, least: .97,
	},
}
