package main

import "testing"

func TestPercentFor(t *testing.T) {
	for inUse, want := range map[uint64]int{
		0: 800, 1 << 20: 800, 16 << 20: 400, 30 << 20: 200, 64 << 20: 100, 1 << 40: 100,
	} {
		if got := percentFor(inUse); got != want {
			t.Errorf("%d MiB in use: %d %%, want %d %%", inUse>>20, got, want)
		}
	}
}
