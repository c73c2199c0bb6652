//go:build race

package quota_test

// raceEnabled tells that everything takes about ten times as long.
const raceEnabled = true
