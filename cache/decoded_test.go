package cache

import (
	"sync"
	"testing"
	"time"
)

func TestDecodedFollowsTheEntry(t *testing.T) {
	d := newDecoded(1<<20, &barriers{})
	subject, later := newTag(), time.Now().Add(time.Hour)
	first := mustEntry(t, subject, later, titleBy("alpha", now()))
	second := first.join(mustEntry(t, subject, later, titleBy("beta", now())))
	for _, e := range []*entry{first, first, second, first} {
		record, err := d.record(e)
		if err != nil {
			t.Fatal(err)
		}
		wantSame(t, record, mustRecord(t, e))
	}
}

func TestDecodedReadsOnce(t *testing.T) {
	d := newDecoded(1<<20, &barriers{})
	e := mustEntry(t, newTag(), time.Now().Add(time.Hour), wideRecord(now()).Facts()...)
	d.record(e)
	if allocated := testing.AllocsPerRun(100, func() { d.record(e) }); allocated > 0 {
		t.Errorf("reading again allocates %v times", allocated)
	}
}

func TestDecodedStaysWithinItsBytes(t *testing.T) {
	const budget = 128 << 10
	d := newDecoded(budget, &barriers{})
	record := wideRecord(now())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 250 {
				d.record(mustEntry(t, newTag(), time.Now().Add(time.Hour), record.Facts()...))
			}
		})
	}
	readers.Wait()
	var held int64
	for i := range d.slots {
		if last := d.slots[i].Load(); last != nil {
			held += last.size
		}
	}
	if held != d.held.Load() || held > budget*11/10 || held < budget/2 {
		t.Errorf("holds %d bytes and counts %d, of %d", held, d.held.Load(), budget)
	}
}

func TestNothingIsKeptDecodedWithoutMemory(t *testing.T) {
	d := newDecoded(-1, &barriers{})
	e := mustEntry(t, newTag(), time.Now().Add(time.Hour), titleBy("alpha", now()))
	record, err := d.record(e)
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, record, mustRecord(t, e))
}
