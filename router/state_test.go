package router

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

func TestRetriesStayARatio(t *testing.T) {
	b := newRetryBudget(0.1)
	made := 0
	for range 10_000 {
		b.firstCall()
		for range 2 {
			if b.take() {
				made++
			}
		}
	}
	if made < 1000 || made > 1000+mostRetries {
		t.Errorf("10000 failing calls were repeated %d times, want a tenth and at most %d more", made, mostRetries)
	}
	none := newRetryBudget(-1)
	none.firstCall()
	if none.take() {
		t.Error("a negative ratio allows no repeat")
	}
	b = newRetryBudget(0.1)
	for b.take() {
	}
	b.putBack()
	if !b.take() {
		t.Error("a repeat that was not made can be made later")
	}
}

func TestRefusalsAreRememberedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRefusals()
		r.apply(time.Hour, 10)
		anna, ben := subjectOf(t, "anna"), subjectOf(t, "ben")
		r.add("acme", anna)
		for _, c := range []struct {
			provider string
			subject  enrich.Subject
			want     bool
		}{{"acme", anna, true}, {"acme", ben, false}, {"bolt", anna, false}} {
			if got := r.has(c.provider, c.subject, time.Now()); got != c.want {
				t.Errorf("%s refused: %v, want %v", c.provider, got, c.want)
			}
		}
		time.Sleep(time.Hour)
		if r.has("acme", anna, time.Now()) {
			t.Error("an hour is over")
		}
		r.apply(-1, 10)
		r.add("acme", anna)
		if r.has("acme", anna, time.Now()) {
			t.Error("nothing is to be remembered")
		}
	})
}

func TestRefusalsAreBounded(t *testing.T) {
	r := newRefusals()
	r.apply(time.Hour, 100)
	for i := range 1000 {
		r.add("acme", subjectOf(t, fmt.Sprintf("caller%d", i)))
		r.add("acme", subjectOf(t, fmt.Sprintf("caller%d", i))) // twice is once
	}
	if len(r.until) != 100 || len(r.ring) != 100 {
		t.Errorf("%d and %d are kept, want 100", len(r.until), len(r.ring))
	}
	now := time.Now()
	if r.has("acme", subjectOf(t, "caller899"), now) || !r.has("acme", subjectOf(t, "caller900"), now) {
		t.Error("the oldest must make room")
	}
}

func TestLearnedForgets(t *testing.T) {
	var l learned
	const price = enrich.Micros(1000)
	wanted := set(0b11)
	if facts, cost := l.expect(wanted, price); facts != 2*priorHits || cost != 1000 {
		t.Errorf("believes in %v facts for %v before any call", facts, cost)
	}
	for range 2000 {
		l.answer(wanted, 0b01, price, enrich.KnownCharge(250))
	}
	if facts, cost := l.expect(wanted, price); math.Abs(facts-1) > 0.03 || math.Abs(cost-250) > 25 {
		t.Errorf("expects %v facts for %v, want about 1 for 250", facts, cost)
	}
	if overall := l.overall().value(); math.Abs(overall-0.5) > 0.01 {
		t.Errorf("hit rate %v, want 0.5", overall)
	}
	for range 2000 {
		l.answer(wanted, 0b11, price, enrich.Charge{})
	}
	if facts, cost := l.expect(wanted, price); facts < 1.95 || math.Abs(cost-250) > 25 {
		t.Errorf("expects %v facts for %v; an unknown charge teaches nothing, old misses fade", facts, cost)
	}
	if l.hits[0].weight > memory+1 {
		t.Errorf("the weight of experience is %v, want at most %d", l.hits[0].weight, memory)
	}
}

func TestSet(t *testing.T) {
	s := set(0).with(0).with(63).with(7)
	var bits []int
	for bit := range s.all {
		bits = append(bits, bit)
	}
	if fmt.Sprint(bits) != "[0 7 63]" || s.size() != 3 || !s.has(63) || s.without(63).has(63) {
		t.Errorf("bits %v of %b", bits, s)
	}
	for range s.all {
		break
	}
}
