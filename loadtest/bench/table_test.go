package main

import "testing"

func TestWithin(t *testing.T) {
	for _, test := range []struct {
		value, must string
		want        bool
	}{
		{"1.25", "≤ 1.25", true},
		{"1.26", "≤ 1.25", false},
		{"0.28", "≤ .30", true},
		{"1.000 · 0", "≥ .95 · ≤ 10", true},
		{"0.949 · 0", "≥ .95 · ≤ 10", false},
		{"1.000 · 33", "≥ .95 · ≤ 10", false},
		{"0.00; 0.34; 1.58", "0; ≤ 1; ≤ 5", true},
		{"0.01; 0.34; 1.58", "0; ≤ 1; ≤ 5", false},
		{"34 MiB", "≤ 40 MiB", true},
		{"0.05 ms; 1.02 ms", "≤ 1 ms; ≤ 1 ms", false},
		{"1.000", "≥ .95 · ≤ 10", false},
		{"nothing", "≤ 1", false},
	} {
		if got := within(test.value, test.must); got != test.want {
			t.Errorf("%q within %q: %t", test.value, test.must, got)
		}
	}
}

// TestBoundsAreRead holds every row's must to what the table can compare.
func TestBoundsAreRead(t *testing.T) {
	for _, row := range rows {
		if !within(row.must, row.must) {
			t.Errorf("%s: %q is no bound", row.name, row.must)
		}
	}
}
