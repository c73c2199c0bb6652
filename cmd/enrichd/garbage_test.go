package main

import "testing"

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
