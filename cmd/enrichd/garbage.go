package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// roomForGarbage is how much garbage may gather before it is collected, though
// it is more than what is in use.
const roomForGarbage = 64 << 20

// collectRarely has the garbage of a small heap collected less often while there
// is much of it: by itself the collector waits until the heap has doubled, which
// one of 20 MB that serves misses does several times a second. That is a tenth of
// the processor time; with more room it takes 13 cycles instead of 22. A heap from
// roomForGarbage on is collected as usual, and so is one at rest. A GOGC that is
// set is left as it is, and a memory limit is kept first.
func collectRarely() {
	if os.Getenv("GOGC") == "" {
		(&pacer{percent: usualPercent}).pace()
	}
}

const (
	// usualPercent of what is in use may be garbage.
	usualPercent = 100
	// restful is the time between two cycles of a heap at rest.
	restful = time.Second
)

// pacer paces the collector after each of its cycles.
type pacer struct {
	percent int
	last    time.Time // when the last cycle ended
}

// pace is called again by the next cycle: that finds the mark unused.
func (p *pacer) pace() {
	inUse := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(inUse)
	percent, now := usualPercent, time.Now()
	if now.Sub(p.last) < restful {
		percent = percentFor(inUse[0].Value.Uint64())
	}
	p.last = now
	if percent != p.percent {
		p.percent = percent
		debug.SetGCPercent(percent)
	}
	type mark struct{ _ *mark }
	runtime.SetFinalizer(&mark{}, func(*mark) { p.pace() })
}

// percentFor is how much garbage may gather beside what is in use, in whole
// multiples of it so that the pace seldom changes.
func percentFor(inUse uint64) int {
	const most = 8 // the least heap would grow with it
	return usualPercent * int(min(max(roomForGarbage/max(inUse, 1), 1), most))
}
