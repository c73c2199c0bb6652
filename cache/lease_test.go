package cache

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/enrichd/enrichd/cache/redistest"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

// vendor is asked by replicas and counts it.
type vendor struct {
	calls atomic.Int64
	takes time.Duration
	fails bool
}

// lookUp is what a replica does for one caller: recall, lease, ask, remember.
func (v *vendor) lookUp(ctx context.Context, c *Cache, key email.Key) enrich.Record {
	known := func(r enrich.Record) bool { return !r.IsEmpty() }
	if recalled, _ := c.Recall(ctx, key); known(recalled) {
		return recalled
	}
	recalled, release := c.Lease(ctx, key, known)
	defer release()
	if known(recalled) {
		return recalled
	}
	began := now()
	v.calls.Add(1)
	select {
	case <-time.After(v.takes):
	case <-ctx.Done():
		return enrich.Record{}
	}
	if v.fails {
		return enrich.Record{}
	}
	record := enrich.NewRecord(titleBy("alpha", began))
	c.Remember(ctx, key, record, time.Now().Add(time.Hour))
	return record
}

// TestOneCallPerSubject has eight replicas asked by eighty callers each: none
// of them shares a look-up in its process, so the lease alone must do.
func TestOneCallPerSubject(t *testing.T) {
	_, caches := replicas(t, 8)
	key := keyOf(t, "ada@orchard.example.com")
	v := &vendor{takes: 100 * time.Millisecond}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var callers sync.WaitGroup
	var empty atomic.Int64
	for _, c := range caches {
		for range 80 {
			callers.Go(func() {
				if v.lookUp(ctx, c, key).IsEmpty() {
					empty.Add(1)
				}
			})
		}
	}
	callers.Wait()
	if calls := v.calls.Load(); calls != 1 {
		t.Errorf("the vendor was called %d times", calls)
	}
	if empty.Load() > 0 {
		t.Errorf("%d callers got nothing", empty.Load())
	}
}

// TestLeaseHolderCrashes lets the holder of a lease vanish.
func TestLeaseHolderCrashes(t *testing.T) {
	t.Parallel()
	_, caches := replicas(t, 2)
	key := keyOf(t, "ada@orchard.example.com")
	never := func(enrich.Record) bool { return false }
	crashed, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	caches[0].Lease(crashed, key, never) // and is never released
	cancel()

	v := &vendor{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() { v.lookUp(ctx, caches[1], key) })
	}
	callers.Wait()
	if calls := v.calls.Load(); calls != 1 {
		t.Errorf("the vendor was called %d times after the crash", calls)
	}
}

// TestReleaseWakes lets a look-up fail: another replica takes over at once, not
// when the lease would have ended.
func TestReleaseWakes(t *testing.T) {
	t.Parallel()
	_, caches := replicas(t, 2)
	key := keyOf(t, "ada@orchard.example.com")
	never := func(enrich.Record) bool { return false }
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, release := caches[0].Lease(ctx, key, never)

	got := make(chan time.Time)
	go func() {
		_, release := caches[1].Lease(ctx, key, never)
		got <- time.Now()
		release()
	}()
	waiting := caches[1].remote
	eventually(t, func() bool {
		waiting.leases.mu.Lock()
		defer waiting.leases.mu.Unlock()
		return len(waiting.leases.waiting) == 1
	})
	released := time.Now()
	release()
	release() // again is once
	if late := (<-got).Sub(released); late > lookAgain/2 {
		t.Errorf("taken over after %v", late)
	}
}

// TestLeaseIsRenewed holds a lease for longer than it lasts unrenewed.
func TestLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	_, caches := replicas(t, 2)
	r := caches[0].remote
	subject := newTag()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lasts := 2 * time.Second
	answer, err := r.acquire(ctx, subject, "mine", lasts, 0)
	if err != nil || !answer.granted {
		t.Fatal(answer, err)
	}
	release := r.holding(ctx, subject, "mine", lasts)
	for range 3 {
		<-time.After(lasts / 2)
		other, err := caches[1].remote.acquire(ctx, subject, "other", lasts, 0)
		if err != nil || other.granted {
			t.Fatalf("granted %v, %v while it is held", other.granted, err)
		}
	}
	again, err := r.acquire(ctx, subject, "mine", lasts, 0)
	if err != nil || !again.granted {
		t.Errorf("the holder itself is not granted it: %v", err)
	}
	release()
	other, err := caches[1].remote.acquire(ctx, subject, "other", lasts, 0)
	if err != nil || !other.granted {
		t.Errorf("not granted after the release: %v", err)
	}
}

// TestASlowHolderIsOvertakenOnce, after half of a waiter's time: of seven that
// wait, one asks too, and the others have what it brings.
func TestASlowHolderIsOvertakenOnce(t *testing.T) {
	t.Parallel()
	_, caches := replicas(t, 8)
	key := keyOf(t, "ada@orchard.example.com")
	_, release := caches[0].Lease(t.Context(), key, func(enrich.Record) bool { return false })
	defer release()
	vendor := vendor{takes: 300 * time.Millisecond}
	const patience = 2 * time.Second
	began := time.Now()
	var callers sync.WaitGroup
	for _, c := range caches[1:] {
		callers.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if vendor.lookUp(ctx, c, key).IsEmpty() {
				t.Error("a replica that waited has nothing")
			}
			if took := time.Since(began); took < patience/2 {
				t.Errorf("went on after %v of %v", took, patience)
			}
		})
	}
	callers.Wait()
	if calls := vendor.calls.Load(); calls != 1 {
		t.Errorf("%d calls beside the holder's, want 1", calls)
	}
}

// TestNobodyOvertakesTwice has a holder overtaken by one that hangs as well: a
// third waits until its time is over, and then goes on without a lease. The
// first holder's release ends nothing that is not its own.
func TestNobodyOvertakesTwice(t *testing.T) {
	t.Parallel()
	_, caches := replicas(t, 3)
	key := keyOf(t, "ada@orchard.example.com")
	never := func(enrich.Record) bool { return false }
	_, release := caches[0].Lease(t.Context(), key, never)
	wait := func(c *Cache) (ctx context.Context, release func()) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		t.Cleanup(cancel)
		_, release = c.Lease(ctx, key, never)
		return ctx, release
	}
	ctx, second := wait(caches[1])
	defer second()
	if ctx.Err() != nil || caches[1].Stats().Leased != 1 {
		t.Error("the holder was not overtaken in time")
	}
	release()
	late, third := wait(caches[2])
	defer third()
	if late.Err() == nil || caches[2].Stats().Unleased != 1 {
		t.Error("the second holder was overtaken too")
	}
}

// TestAtMostTwoAskAtOnce has a holder overtaken by one that fails while the first
// still hangs: the next overtakes the first again, and nobody asks beside them.
// Who brings something ends its own lease alone.
func TestAtMostTwoAskAtOnce(t *testing.T) {
	t.Parallel()
	r := startRemote(t, redistest.Start(t), patient)
	subject, knows := newTag(), int64(0)
	step := func(token string, granted bool) {
		t.Helper()
		answer, err := r.acquire(t.Context(), subject, token, time.Minute, knows)
		if err != nil || answer.granted != granted {
			t.Errorf("%s: granted is %v, %v", token, answer.granted, err)
		}
	}
	step("first", true)
	step("!second", true)
	step("!second", true) // again is once
	step("!third", false)
	r.release(t.Context(), subject, "!second")
	step("third", false)
	step("first", true)
	step("!third", true)
	step("!fourth", false)
	r.release(t.Context(), subject, "first")
	step("!fourth", false)
	r.release(t.Context(), subject, "!third")
	step("fourth", true)
	step("!fifth", true)
	brought := mustEntry(t, subject, time.Now().Add(time.Hour), titleBy("alpha", now()))
	fill := func(token string) {
		if _, err := r.fillAs(t.Context(), brought, token); err != nil {
			t.Error(err)
		}
	}
	fill("!fifth")
	knows = math.MaxInt64
	step("!sixth", true)
	fill("fourth")
	step("seventh", false)
	fill("!sixth")
	step("seventh", true)
}

// TestALeaseEndsThoughItWasOvertaken: that another has come and gone makes the
// lease of a replica that crashed last no longer.
func TestALeaseEndsThoughItWasOvertaken(t *testing.T) {
	t.Parallel()
	r := startRemote(t, redistest.Start(t), patient)
	subject := newTag()
	asked := func(token string, lasts time.Duration) bool {
		t.Helper()
		answer, err := r.acquire(t.Context(), subject, token, lasts, 0)
		if err != nil {
			t.Error(err)
		}
		return answer.granted
	}
	if !asked("crashed", 300*time.Millisecond) || !asked("!second", time.Minute) {
		t.Fatal("not granted")
	}
	r.prolong(subject, "crashed", 500*time.Millisecond) // for the last time
	r.release(t.Context(), subject, "!second")
	if asked("third", time.Minute) {
		t.Error("granted while it is held")
	}
	began := time.Now()
	eventually(t, func() bool { return asked("third", time.Minute) })
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("ended after %v", took)
	}
}

// TestLeaseBringsWhatIsMissing returns to a replica that lacks one attribute
// only when another has brought it, not at the first news.
func TestLeaseBringsWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, caches := replicas(t, 2)
	key := keyOf(t, "ada@orchard.example.com")
	wants := func(source string) func(enrich.Record) bool {
		return func(r enrich.Record) bool {
			_, ok := r.Best("person.title", func(f enrich.Fact) bool { return f.Source == source })
			return ok
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, release := caches[0].Lease(ctx, key, wants("beta"))
	defer release()
	got := make(chan enrich.Record)
	go func() {
		record, release := caches[1].Lease(ctx, key, wants("beta"))
		release()
		got <- record
	}()
	for _, source := range []string{"gamma", "beta"} {
		record := enrich.NewRecord(titleBy(source, now()))
		// Written by somebody without the lease, which therefore stays.
		subject := caches[0].tagger.tag(key)
		if _, err := caches[0].remote.fillAs(ctx, mustEntry(t, subject, time.Now().Add(time.Hour), record.Facts()...), ""); err != nil {
			t.Fatal(err)
		}
	}
	if record := <-got; !wants("beta")(record) {
		t.Errorf("returned with %d facts", len(record.Facts()))
	}
}

// late is a finder whose vendor answers after the look-ups have ended.
type late struct {
	calls  atomic.Int64
	answer chan struct{} // closed when the vendor answers
}

func (*late) Sources(enrich.Account, enrich.Attribute) []string  { return []string{"alpha"} }
func (*late) Included(enrich.Account, enrich.Attribute) []string { return []string{"alpha"} }

func (l *late) Find(_ context.Context, ask enrich.Ask) enrich.Found {
	l.calls.Add(1)
	began, ended := now(), make(chan struct{})
	go func() {
		defer close(ended)
		<-l.answer
		ask.Late(enrich.NewRecord(titleBy("alpha", began)))
	}()
	return enrich.Found{
		Failed:   map[enrich.Attribute]string{"person.title": enrich.ReasonInFlight},
		Err:      &enrich.Error{Kind: enrich.OutOfTime, Message: "too slow", Offset: -1},
		UnderWay: ended,
	}
}

// TestLateCallsKeepTheLease has a vendor answer long after the request has
// ended for which it was asked: another replica does not pay for the same, and
// gets what the late answer brings.
func TestLateCallsKeepTheLease(t *testing.T) {
	t.Parallel()
	_, caches := replicas(t, 2)
	normalizer, err := email.New(email.Config{})
	if err != nil {
		t.Fatal(err)
	}
	vendor := &late{answer: make(chan struct{})}
	request := enrich.Request{Email: "ada@orchard.example.com", Wanted: []enrich.Attribute{"person.title"}, Budget: time.Second}
	var services []*enrich.Service
	for _, c := range caches {
		services = append(services, &enrich.Service{Normalizer: normalizer, Cache: c, Finder: vendor, Config: enrich.Config{}.WithDefaults(), Log: silent()})
	}
	for range 2 {
		// The second request of the same replica shares the lease.
		if _, err := services[0].Enrich(t.Context(), request); err == nil {
			t.Fatal("answered before the vendor has")
		}
	}
	key := keyOf(t, "ada@orchard.example.com")
	<-time.After(1500 * time.Millisecond) // the lease of a request of one second would be over
	request.Budget = time.Minute
	answered := make(chan enrich.Answer)
	go func() {
		answer, err := services[1].Enrich(t.Context(), request)
		if err != nil {
			t.Error(err)
		}
		answered <- answer
	}()
	eventually(t, func() bool {
		waiting := &caches[1].remote.leases
		waiting.mu.Lock()
		defer waiting.mu.Unlock()
		return len(waiting.waiting) == 1
	})
	close(vendor.answer)
	if answer := <-answered; len(answer.Found) != 1 {
		t.Errorf("the other replica has %d values", len(answer.Found))
	}
	if calls := vendor.calls.Load(); calls != 2 {
		t.Errorf("%d calls, want those of the first replica alone", calls)
	}
	for _, service := range services {
		if err := service.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	eventually(t, func() bool { // the lease ends with the call
		other, err := caches[1].remote.acquire(t.Context(), caches[1].tagger.tag(key), "other", time.Second, math.MaxInt64)
		return err == nil && other.granted
	})
	if held := caches[0].remote.leases.held; len(held) > 0 {
		t.Errorf("%d leases are left", len(held))
	}
}

// TestWaitersAreForgotten leaves nothing behind.
func TestWaitersAreForgotten(t *testing.T) {
	_, caches := replicas(t, 1)
	c := caches[0]
	for i := range 50 {
		key := keyOf(t, fmt.Sprintf("ada.%d@orchard.example.com", i))
		_, release := c.Lease(t.Context(), key, func(enrich.Record) bool { return false })
		release()
	}
	c.remote.leases.mu.Lock()
	defer c.remote.leases.mu.Unlock()
	if held, waiting := len(c.remote.leases.held), len(c.remote.leases.waiting); held+waiting > 0 {
		t.Errorf("%d leases and %d bells are left", held, waiting)
	}
}
