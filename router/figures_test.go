package router_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/fakevendor"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

// figure is one measured value, what it must reach and what it may.
type figure struct {
	id, name  string
	value     float64
	must, aim float64
	most      bool // the bounds are upper ones
}

func (f figure) reached(bound float64) bool {
	if f.most {
		return f.value <= bound
	}
	return f.value >= bound
}

// figures collects them from rows that run side by side.
type figures struct {
	mu  sync.Mutex
	all []figure
}

func (f *figures) atLeast(id, name string, value, must, aim float64) {
	f.add(figure{id, name, value, must, aim, false})
}

func (f *figures) atMost(id, name string, value, must, aim float64) {
	f.add(figure{id, name, value, must, aim, true})
}

func (f *figures) add(one figure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, one)
}

// TestFigures measures how near three replicas come to a strict vendor's limits,
// and that they never cross them: router, quota, definition and HTTP as they
// run in production, Redis and vendor in memory, in virtual time. With -v it
// prints the table.
func TestFigures(t *testing.T) {
	if raceEnabled {
		t.Skip("figures are measured without the race detector; the other tests show races")
	}
	var table figures
	t.Run("rows", func(t *testing.T) {
		for _, row := range rows {
			t.Run(row.id+" "+row.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { row.measure(t, row, &table) })
			})
		}
	})
	slices.SortStableFunc(table.all, func(a, b figure) int { return strings.Compare(a.id+a.name, b.id+b.name) })
	var text strings.Builder
	for _, f := range table.all {
		sign := "≥"
		if f.most {
			sign = "≤"
		}
		note := ""
		if !f.reached(f.aim) {
			note = "  aim not reached"
		}
		if !f.reached(f.must) {
			note = "  MISSED"
			t.Errorf("%s %s: %.3f, must be %s %.3g", f.id, f.name, f.value, sign, f.must)
		}
		fmt.Fprintf(&text, "%-3s %-62s %9.3f   must %s %-5.3g aim %s %-5.3g%s\n", f.id, f.name, f.value, sign, f.must, sign, f.aim, note)
	}
	t.Logf("\n%s", text.String())
}

// row is one measurement.
type row struct {
	id, name string
	limits   []enrich.Limit
	vendor   fakevendor.Vendor
	leads    int
	phase    time.Duration // after midnight
	ideal    func(began time.Time, leads int) time.Duration
	must     float64 // ideal over measured time
	aim      float64
	refused  float64 // at most, per 10,000 calls
	measure  func(t *testing.T, r row, table *figures)
}

// drain measures a backlog that enters at all replicas.
func drain(t *testing.T, r row, table *figures) { drainAt(t, r, table, inTurn) }

// drainAtOne measures one that enters at one of them.
func drainAtOne(t *testing.T, r row, table *figures) { drainAt(t, r, table, atOne) }

func drainAt(t *testing.T, r row, table *figures, enter func(int) int) {
	time.Sleep(r.phase)
	f := newFleet(t, r.vendor, r.limits...)
	f.drain(r.leads, enter)
	r.judge(f, table)
	summary := f.summary()
	table.atMost("Q7", r.name+": calls per lead", float64(summary.Calls)/float64(r.leads), 1.02, 1.001)
	table.atMost("Q7", r.name+": duplicates charged", float64(summary.Duplicates), 0, 0)
}

// judge compares a drain with the ideal one.
func (r row) judge(f *fleet, table *figures) {
	table.atLeast(r.id, r.name+": ideal/drain", r.ideal(f.began, r.leads).Seconds()/f.drained().Seconds(), r.must, r.aim)
	id := r.id
	if id == "Q1" || id == "Q3" || id == "Q6" {
		id = "Q2"
	}
	table.atMost(id, r.name+": 429s per 10,000", f.per10k(), r.refused, 0)
	table.atMost("R1", r.name+": Redis calls per vendor call", float64(f.trips())/float64(f.summary().Calls), 1, .4)
}

// killed (Q3): one of three replicas dies at a third of the drain with what it
// had booked; its leads enter again at the others.
func killed(t *testing.T, r row, table *figures) {
	time.Sleep(r.phase)
	f := newFleet(t, r.vendor, r.limits...)
	f.began = time.Now()
	ideal := r.ideal(f.began, r.leads)
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	alive, kill := context.WithCancel(ctx)
	defer kill()
	var all sync.WaitGroup
	for i := range r.leads {
		all.Go(func() {
			if i%3 != 0 || !f.try(alive, f.replicas[0], "import", enrich.Bulk) {
				f.try(ctx, f.replicas[1+i%2], "import", enrich.Bulk)
			}
		})
	}
	time.Sleep(ideal / 3)
	f.replicas[0].wire.cut()
	kill()
	all.Wait()
	r.judge(f, table)
}

// daySpent (Q7): more leads than the day has calls. All of the day is used, and
// in half an hour nobody tries what cannot help.
func daySpent(t *testing.T, r row, table *figures) {
	time.Sleep(r.phase)
	f := newFleet(t, r.vendor, r.limits...)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for i := range r.leads {
		all.Go(func() { f.try(ctx, f.replicas[i%3], "import", enrich.Bulk) })
	}
	all.Wait()
	summary := f.summary()
	table.atLeast("Q7", r.name+": calls of the day that were used", float64(summary.ByOutcome[enrich.Hit]), 1000, 1000)
	table.atMost("Q7", r.name+": calls after it was spent", float64(summary.Calls-1000), 3, 0)
}

// brownout (Q8): for 90 seconds half of the calls fail, and all take a second
// longer.
func brownout(t *testing.T, r row, table *figures) {
	time.Sleep(r.phase)
	f := newFleet(t, r.vendor, r.limits...)
	f.drain(r.leads, inTurn)
	table.atLeast(r.id, r.name+": ideal/drain", r.ideal(f.began, r.leads).Seconds()/f.drained().Seconds(), r.must, r.aim)
	table.atMost(r.id, r.name+": calls per lead", float64(f.summary().Calls)/float64(r.leads), 1.10, 1.06)
	table.atMost(r.id, r.name+": 429s per 10,000", f.per10k(), r.refused, 0)
}

// smallAccount (F1): ten leads of a small account, 30 s after 10,000 of another.
// R1 is measured beside it.
func smallAccount(t *testing.T, r row, table *figures) {
	f := newFleet(t, r.vendor, r.limits...)
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	var big, small sync.WaitGroup
	for i := range 10_000 {
		big.Go(func() { f.try(ctx, f.replicas[i%3], "big", enrich.Bulk) })
	}
	time.Sleep(30 * time.Second)
	for i := range 10 {
		small.Go(func() { f.try(ctx, f.replicas[i%3], "small", enrich.Bulk) })
	}
	small.Wait()
	trips, calls := f.trips(), f.summary().Calls
	cancel()
	big.Wait()
	bound := 10*2/10.0 + .2
	table.atMost(r.id, r.name+": small account's P95 over its fair-share bound", f.p95("small")/bound, r.must, r.aim)
	table.atMost("R1", r.name+": Redis calls per vendor call, backlog of 10,000", float64(trips)/float64(calls), 1, .4)
	table.atMost(r.id, r.name+": 429s per 10,000", f.per10k(), r.refused, 0)
}

// interactive (F2): interactive callers alone, then during an import.
func interactive(t *testing.T, r row, table *figures) {
	f := newFleet(t, r.vendor, r.limits...)
	random := rand.New(rand.NewPCG(3, 4))
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	var all sync.WaitGroup
	visits := 0
	visit := func(account string) {
		time.Sleep(time.Duration(random.ExpFloat64() * float64(2*time.Second)))
		at := f.replicas[visits%3]
		visits++
		all.Go(func() { f.try(ctx, at, account, enrich.Interactive) })
	}
	for range 100 {
		visit("alone")
	}
	all.Wait()
	visits = 0
	f.began = time.Now()
	for i := range r.leads {
		all.Go(func() { f.try(ctx, f.replicas[i%3], "import", enrich.Bulk) })
	}
	for time.Since(f.began) < 4*time.Minute {
		visit("person")
	}
	all.Wait()
	table.atMost(r.id, r.name+": interactive P95 during an import over P95 alone", f.p95("person")/f.p95("alone"), 2, 1.2)
	table.atLeast(r.id, r.name+": the import's ideal/drain", r.ideal(f.began, r.leads+visits).Seconds()/f.drained().Seconds(), r.must, r.aim)
	table.atMost(r.id, r.name+": 429s per 10,000", f.per10k(), r.refused, 0)
}

// clumps (F3): a load of 70 % that comes in clumps of 20.
func clumps(t *testing.T, r row, table *figures) {
	f := newFleet(t, r.vendor, r.limits...)
	random := rand.New(rand.NewPCG(5, 6))
	var all sync.WaitGroup
	for time.Since(f.began) < 10*time.Minute {
		for i := range 20 {
			all.Go(func() { f.try(context.Background(), f.replicas[i%3], "clumps", enrich.Standard) })
		}
		time.Sleep(time.Duration(random.ExpFloat64() * float64(20*time.Second) / 7))
	}
	all.Wait()
	table.atMost(r.id, r.name+": P95 in seconds", f.p95("clumps"), r.must, r.aim)
	table.atMost("Q2", r.name+": 429s per 10,000", f.per10k(), r.refused, 0)
}

// idealBucket is the least time at 10 per second with a burst of 20.
func idealBucket(_ time.Time, leads int) time.Duration {
	return time.Duration(leads-20) * time.Second / 10
}

// idealFixed is the least time through aligned windows: the rest of the first,
// then whole ones, and the beginning of the last.
func idealFixed(amount int, length time.Duration) func(time.Time, int) time.Duration {
	return func(began time.Time, leads int) time.Duration {
		rest := began.Truncate(length).Add(length).Sub(began)
		windows := (leads + amount - 1) / amount
		return rest + time.Duration(windows-2)*length
	}
}

// idealSliding is the least time through a log.
func idealSliding(amount int, length time.Duration) func(time.Time, int) time.Duration {
	return func(_ time.Time, leads int) time.Duration {
		return time.Duration((leads+amount-1)/amount-1) * length
	}
}

// The vendors' limits, as we know them and as they are judged.
var (
	bucketLimit  = enrich.Limit{Name: "rate", Shape: enrich.TokenBucket, Amount: 10, Window: time.Second, Burst: 20}
	minuteLimit  = enrich.Limit{Name: "minute", Shape: enrich.FixedWindow, Amount: 600, Window: time.Minute}
	secondLimit  = enrich.Limit{Name: "second", Shape: enrich.FixedWindow, Amount: 10, Window: time.Second}
	logLimit     = enrich.Limit{Name: "log", Shape: enrich.Sliding, Amount: 600, Window: time.Minute}
	shortLog     = enrich.Limit{Name: "log", Shape: enrich.Sliding, Amount: 10, Window: time.Second}
	atOnceLimit  = enrich.Limit{Name: "at_once", Shape: enrich.Concurrency, Amount: 6}
	dayLimit     = enrich.Limit{Name: "day", Shape: enrich.FixedWindow, Amount: 1000, Calendar: "day"}
	bucketRule   = strict.Limit{Name: "rate", Shape: strict.TokenBucket, Amount: 10, Window: time.Second, Burst: 20}
	minuteRule   = strict.Limit{Name: "minute", Shape: strict.Fixed, Amount: 600, Window: time.Minute}
	secondRule   = strict.Limit{Name: "second", Shape: strict.Fixed, Amount: 10, Window: time.Second}
	logRule      = strict.Limit{Name: "log", Shape: strict.Sliding, Amount: 600, Window: time.Minute}
	shortLogRule = strict.Limit{Name: "log", Shape: strict.Sliding, Amount: 10, Window: time.Second}
	atOnceRule   = strict.Limit{Name: "at_once", Shape: strict.Concurrency, Amount: 6}
	dayRule      = strict.Limit{Name: "day", Shape: strict.Day, Amount: 1000}
	hardBan      = strict.Ban{After: 20, Within: 10 * time.Second, For: 30 * time.Second}
)

func judgedBy(rules ...strict.Limit) fakevendor.Vendor {
	return fakevendor.Vendor{Limits: fakevendor.Limits{Rules: rules}}
}

// counting has refused calls count, and hammering banned.
func counting(rule strict.Limit) fakevendor.Vendor {
	rule.CountRefused = true
	vendor := judgedBy(rule)
	vendor.Limits.Bans = []strict.Ban{hardBan}
	return vendor
}

func skewed(vendor fakevendor.Vendor, by time.Duration) fakevendor.Vendor {
	vendor.Limits.ClockSkew = by
	return vendor
}

func slow(vendor fakevendor.Vendor, latency time.Duration) fakevendor.Vendor {
	vendor.Faults.Latency = fakevendor.Latency{Median: latency}
	return vendor
}

func failing(vendor fakevendor.Vendor) fakevendor.Vendor {
	vendor.Faults.Rules = []fakevendor.Fault{{
		Kind: fakevendor.Brownout, Share: 0.5, From: 2 * time.Minute, Until: 3*time.Minute + 30*time.Second,
		Latency: fakevendor.Latency{Median: time.Second},
	}}
	return vendor
}

// rows are the figures of docs/quota.md.
var rows = []row{
	{id: "Q1", name: "bucket 10/s", limits: []enrich.Limit{bucketLimit}, vendor: judgedBy(bucketRule),
		leads: 600, ideal: idealBucket, must: .97, aim: .99, refused: 5, measure: drain},
	{id: "Q1", name: "600/min", limits: []enrich.Limit{minuteLimit}, vendor: judgedBy(minuteRule),
		leads: 6000, phase: 30 * time.Second, ideal: idealFixed(600, time.Minute), must: .97, aim: .99, refused: 5, measure: drain},
	{id: "Q3", name: "bucket 10/s, all at one", limits: []enrich.Limit{bucketLimit}, vendor: judgedBy(bucketRule),
		leads: 600, ideal: idealBucket, must: .97, aim: .99, refused: 5, measure: drainAtOne},
	{id: "Q3", name: "600/min, all at one", limits: []enrich.Limit{minuteLimit}, vendor: judgedBy(minuteRule),
		leads: 6000, phase: 30 * time.Second, ideal: idealFixed(600, time.Minute), must: .97, aim: .99, refused: 5, measure: drainAtOne},
	{id: "Q3", name: "bucket 10/s, one of three killed", limits: []enrich.Limit{bucketLimit}, vendor: judgedBy(bucketRule),
		leads: 580, ideal: idealBucket, must: .95, aim: .99, refused: 5, measure: killed},
	{id: "Q3", name: "600/min, one of three killed", limits: []enrich.Limit{minuteLimit}, vendor: judgedBy(minuteRule),
		leads: 5980, phase: 30 * time.Second, ideal: idealFixed(600, time.Minute), must: .95, aim: .99, refused: 5, measure: killed},
	{id: "Q4", name: "10 per second", limits: []enrich.Limit{secondLimit}, vendor: judgedBy(secondRule),
		leads: 1000, phase: 300 * time.Millisecond, ideal: idealFixed(10, time.Second), must: .95, aim: .99, refused: 10, measure: drain},
	{id: "Q4", name: "10 per second, clock 250 ms ahead", limits: []enrich.Limit{secondLimit}, vendor: skewed(judgedBy(secondRule), 250*time.Millisecond),
		leads: 3000, ideal: idealFixed(10, time.Second), must: .95, aim: .99, refused: 25, measure: drain},
	{id: "Q4", name: "10 per second, clock 250 ms behind", limits: []enrich.Limit{secondLimit}, vendor: skewed(judgedBy(secondRule), -250*time.Millisecond),
		leads: 3000, ideal: idealFixed(10, time.Second), must: .95, aim: .99, refused: 25, measure: drain},
	{id: "Q5", name: "log 600/min", limits: []enrich.Limit{logLimit}, vendor: judgedBy(logRule),
		leads: 6000, ideal: idealSliding(600, time.Minute), must: .97, aim: .99, refused: 5, measure: drain},
	{id: "Q5", name: "log 10/s", limits: []enrich.Limit{shortLog}, vendor: judgedBy(shortLogRule),
		leads: 1000, ideal: idealSliding(10, time.Second), must: .88, aim: .90, refused: 5, measure: drain},
	{id: "Q5", name: "6 at once", limits: []enrich.Limit{atOnceLimit}, vendor: slow(judgedBy(atOnceRule), 400*time.Millisecond),
		leads: 1000, ideal: func(_ time.Time, leads int) time.Duration { return time.Duration(leads) * 426 * time.Millisecond / 6 },
		must: .97, aim: .99, refused: 5, measure: drain},
	{id: "Q6", name: "600/min, refused count, bans", limits: []enrich.Limit{minuteLimit}, vendor: counting(minuteRule),
		leads: 6000, phase: 500 * time.Millisecond, ideal: idealFixed(600, time.Minute), must: .97, aim: .99, refused: 5, measure: drain},
	{id: "Q6", name: "log 600/min, refused count, bans", limits: []enrich.Limit{logLimit}, vendor: counting(logRule),
		leads: 6000, ideal: idealSliding(600, time.Minute), must: .97, aim: .99, refused: 5, measure: drain},
	{id: "Q7", name: "1,000 a day", limits: []enrich.Limit{dayLimit, bucketLimit}, vendor: judgedBy(dayRule, bucketRule),
		leads: 2000, phase: 10 * time.Hour, measure: daySpent},
	{id: "Q8", name: "90 s brownout", limits: []enrich.Limit{bucketLimit}, vendor: failing(judgedBy(bucketRule)),
		leads: 6000, ideal: idealBucket, must: .88, aim: .93, refused: 5, measure: brownout},
	{id: "F1", name: "bucket 10/s", limits: []enrich.Limit{bucketLimit}, vendor: judgedBy(bucketRule), must: 2, aim: 1.1, refused: 5, measure: smallAccount},
	{id: "F1", name: "600/min", limits: []enrich.Limit{minuteLimit}, vendor: judgedBy(minuteRule), must: 2, aim: 1.1, refused: 5, measure: smallAccount},
	{id: "F2", name: "600/min", limits: []enrich.Limit{minuteLimit}, vendor: judgedBy(minuteRule),
		leads: 3000, ideal: idealFixed(600, time.Minute), must: .96, aim: .96, refused: 5, measure: interactive},
	{id: "F3", name: "600/min, 70 % in clumps of 20", limits: []enrich.Limit{minuteLimit}, vendor: judgedBy(minuteRule), must: 1, aim: .3, refused: 5, measure: clumps},
}
