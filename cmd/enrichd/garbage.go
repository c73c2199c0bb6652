package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// roomForGarbage is how much garbage may gather before it is collected, though
	// it is more than what is in use, in percent of the bytes configured for the
	// cache; leastRoom whatever they are. With 128 MiB of 256 a miss in a batch takes
	// 121 µs instead of 140 with 64 of 128.
	roomForGarbage = 50
	leastRoom      = 64 << 20
	// usefulGarbage is how much of it is useful when much is in use, in percent of
	// that: more takes memory, and saves little.
	usefulGarbage = 25
	// besides is what the process takes beside its heap, and what of the heap is not
	// the cache's. It differs by 5 MiB with how the system keeps the program's file.
	besides = 60 << 20
	// overhead is what the process may take over the bytes configured for the cache,
	// in percent of them, without the 5 that the heap takes beside what is in it.
	overhead = 20
	// leastBudget is the heap's whatever the size of the cache.
	leastBudget = 96 << 20
	// leastGarbage keeps the collector from running all the time when the heap is
	// larger than planned, in percent of what is in use.
	leastGarbage = 8
	// restful is the time between two cycles of a heap at rest.
	restful = time.Second
	// starting is how long a start may take, whose garbage does not come again.
	starting = 5 * time.Second
)

// paceGarbage has garbage collected so that a service whose cache has the given
// size stays within it and a quarter. By itself the collector waits until the heap
// has doubled: that is too soon for a small heap, which one request in a hundred
// then pays for, and twice the memory for a full cache, whose entries are bytes
// without pointers and cheap to keep. A GOGC that is set is left as it is, and a
// memory limit is kept first.
func paceGarbage(cache int64) {
	if os.Getenv("GOGC") == "" {
		newPacer(cache).pace()
	}
}

// pacer paces the collector after each of its cycles.
type pacer struct {
	budget  int64 // of the heap with its garbage
	room    int64 // for garbage
	percent int
	begun   time.Time
	last    time.Time // when the last cycle ended
}

func newPacer(cache int64) *pacer {
	return &pacer{
		budget:  max(cache*(100+overhead)/100-besides, leastBudget),
		room:    max(cache*roomForGarbage/100, leastRoom),
		percent: 100,
		begun:   time.Now(),
	}
}

// pace is called again by the next cycle: that finds the mark unused.
func (p *pacer) pace() {
	inUse := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(inUse)
	percent := p.percentFor(int64(inUse[0].Value.Uint64()), p.busy(time.Now()))
	if percent != p.percent {
		p.percent = percent
		debug.SetGCPercent(percent)
	}
	type mark struct{ _ *mark }
	runtime.SetFinalizer(&mark{}, func(*mark) { p.pace() })
}

// busy tells whether the cycle that ends now came soon after the one before it. A
// start is never busy.
func (p *pacer) busy(now time.Time) bool {
	soon := now.Sub(p.last) < restful
	p.last = now
	return soon && now.Sub(p.begun) > starting
}

// percentFor is how much garbage may gather beside what is in use: as much as the
// budget leaves, but no more than is useful. It is rounded, so that the pace seldom
// changes.
func (p *pacer) percentFor(inUse int64, busy bool) int {
	const most, fine, coarse = 800, 5, 100 // the least heap grows with the percentage
	inUse = max(inUse, 1)
	useful := p.room * 100 / inUse
	if !busy {
		useful = min(useful, 100)
	}
	percent := int(min(max(useful, usefulGarbage), max(p.budget-inUse, 0)*100/inUse))
	if percent > coarse {
		return min(percent/coarse*coarse, most)
	}
	return max(percent/fine*fine, leastGarbage)
}
