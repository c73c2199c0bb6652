package main

import (
	"testing"
	"time"
)

// TestGarbageStaysWithinTheBudget of 112 MiB, and is collected seldom while it may.
func TestGarbageStaysWithinTheBudget(t *testing.T) {
	p := &pacer{budget: 112 << 20, room: 64 << 20}
	for _, test := range []struct {
		inUse      int64 // MiB
		busy, rest int   // percent of it
	}{
		{1, 800, 100}, {16, 400, 100}, {30, 200, 100}, {64, 75, 75}, {80, 40, 40}, {90, 20, 20}, {100, 10, 10}, {110, 8, 8}, {1 << 20, 8, 8},
	} {
		if busy, rest := p.percentFor(test.inUse<<20, true), p.percentFor(test.inUse<<20, false); busy != test.busy || rest != test.rest {
			t.Errorf("%d MiB in use: %d %% when busy, %d %% at rest; want %d %% and %d %%", test.inUse, busy, rest, test.busy, test.rest)
		}
	}
	for inUse, want := range map[int64]int{64: 100, 128: 50, 256: 25, 1 << 20: 25} {
		for _, busy := range []bool{true, false} {
			if got := (&pacer{budget: 1 << 50, room: 64 << 20}).percentFor(inUse<<20, busy); got != want {
				t.Errorf("%d MiB in use and a large budget: %d %%, want %d %%", inUse, got, want)
			}
		}
	}
}

// TestTheCacheGivesTheRoom that garbage has, and the budget of the heap.
func TestTheCacheGivesTheRoom(t *testing.T) {
	for cache, want := range map[int64]struct{ budget, room int64 }{ // MiB
		0: {96, 64}, 64: {96, 64}, 128: {96, 64}, 130: {96, 65}, 200: {180, 100}, 1000: {1140, 500},
	} {
		if p := newPacer(cache << 20); p.budget != want.budget<<20 || p.room != want.room<<20 {
			t.Errorf("a cache of %d MiB: a budget of %d bytes and room for %d, want %d and %d MiB", cache, p.budget, p.room, want.budget, want.room)
		}
	}
}

// TestAStartIsNotBusy however soon its cycles follow each other: no room is held
// for its garbage. Afterwards a cycle is busy that comes soon after another.
func TestAStartIsNotBusy(t *testing.T) {
	p := newPacer(0)
	for _, cycle := range []struct {
		after time.Duration // the start
		busy  bool
	}{
		{0, false}, {10 * time.Millisecond, false}, {4900 * time.Millisecond, false}, {5 * time.Second, false},
		{5100 * time.Millisecond, true}, {6 * time.Second, true}, {7 * time.Second, false}, {time.Minute, false}, {time.Minute + 999*time.Millisecond, true},
	} {
		if busy := p.busy(p.begun.Add(cycle.after)); busy != cycle.busy {
			t.Errorf("a cycle that ends after %s is busy: %t", cycle.after, busy)
		}
	}
}
